/*
 * UTF-8 as tokenizers need it: lenient decoding, and the alphabet in which byte-level BPE
 * vocabularies spell bytes.
 *
 * Pure functions; any thread.
 */
#ifndef KS_ENGINE_TEXT_VOCAB_UTF8_H
#define KS_ENGINE_TEXT_VOCAB_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_UTF8_REPLACEMENT 0xFFFDu

/* The length that a lead byte announces: 1..4; 1 for bytes that lead nothing. */
static inline unsigned ks_utf8_length(unsigned char lead)
{
    if (lead < 0xC0)
        return 1;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/*
 * Decodes the code point at s[0..left), left > 0, and sets *used to its bytes (1..4). Lenient: an
 * overlong form is the character it spells and a surrogate is itself; what can't be decoded at all
 * (a stray or missing continuation, a value above U+10FFFF) is U+FFFD for one byte.
 */
uint32_t ks_utf8_decode(const unsigned char *s, size_t left, unsigned *used);

/* Writes cp (up to U+10FFFF, surrogates too) and returns its length. */
unsigned ks_utf8_encode(uint32_t cp, char out[4]);

/* Length of the longest prefix of bytes below 0x80. */
size_t ks_utf8_ascii_prefix(const char *s, size_t len);

/*
 * Byte-level vocabularies (GPT-2's) spell each byte as one printable character: 0x21..0x7E,
 * 0xA1..0xAC and 0xAE..0xFF stand for themselves, the other 68 bytes are U+0100 on, in order.
 * Writes the bytes that text spells to out (text's len suffices) and returns true; false where text
 * holds a character outside that alphabet.
 */
bool ks_byte_alphabet_decode(const char *text, size_t len, char *out, size_t *out_len);

#endif
