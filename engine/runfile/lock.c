/*
 * The writer's lock: one byte of the file beyond those that SQLite locks (it takes 512 from 2^30
 * on), held through an open file description, so that it is the kernel's to release and doesn't
 * mix with SQLite's own locks of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>

#include "engine/runfile/object.h"

enum { LOCK_BYTE = 0x40000000 + 4096 };

static struct flock lock_byte(void)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1};
}

int ks_runfile_take_lock(int fd)
{
    struct flock l = lock_byte();
    if (fcntl(fd, F_OFD_SETLK, &l) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? 1 : -1;
}

bool ks_runfile_lock_is_held(int fd)
{
    struct flock l = lock_byte();
    return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

bool ks_runfile_type_is_network(long type)
{
    static const unsigned long shared[] = {
        NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,   CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
        V9FS_MAGIC,       AFS_SUPER_MAGIC,   CEPH_SUPER_MAGIC, CODA_SUPER_MAGIC,
        FUSE_SUPER_MAGIC, OCFS2_SUPER_MAGIC, 0x0bd00bd0, /* Lustre */
        0x47504653,                                      /* GPFS */
        0x01161970,                                      /* GFS2 */
        0x19830326,                                      /* BeeGFS */
        0x786f4256,                                      /* VirtualBox's folders */
    };
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if ((unsigned long)type == shared[i])
            return true;
    return false;
}
