/*
 * Elementary functions with the same bits on every CPU: polynomials and explicit fma, no libm. Each
 * says how far off it may be, in ulp: a little more than the most that millions of arguments gave,
 * of which the tests keep the worst in a table of true values.
 *
 * The f64 ones serve the ruler (log-softmax over vocabularies); the f32 ones the forward pass.
 * Vector paths evaluate the very same operations lane by lane.
 *
 * Pure functions; any thread.
 */
#ifndef KS_ENGINE_KERNELS_MATH_H
#define KS_ENGINE_KERNELS_MATH_H

/* e^x; 0.95 ulp; 0 below -745.2, through the denormals; +inf above 709.8; NaN for NaN. */
double ks_exp(double x);
/* ln x; 0.9 ulp; -inf at 0, NaN below. */
double ks_log(double x);
/* ln(1 + x), without cancellation near 0; 1.3 ulp. */
double ks_log1p(double x);
/* x^y for x > 0; 0.97 ulp. NaN for x < 0. */
double ks_pow(double x, double y);
/* |x| < 2^30; 0.8 ulp. */
double ks_sin(double x);
double ks_cos(double x);

/* e^x, 0.95 ulp; tanh, 0.501 ulp. */
float ks_expf(float x);
float ks_tanhf(float x);

#endif
