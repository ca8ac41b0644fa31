"""The wire format of the FUSE kernel protocol, version 7.31: operations, flags and structures.

Names and layouts are those of `linux/fuse.h`; only what the server uses is here. All structures
are in the byte order of the machine.
"""

import enum
from struct import Struct

MAJOR, MINOR = 7, 31
"""7.31 is Linux 5.4; newer kernels step down to what the server answers."""

ROOT_ID = 1
UNKNOWN_INODE = 0xFFFF_FFFF

FOLDER_BITS = 0o040000
FILE_BITS = 0o100000
FOLDER_ENTRY, FILE_ENTRY = 4, 8
"""DT_DIR and DT_REG."""


class Operation(enum.IntEnum):
    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    SYMLINK = 6
    MKNOD = 8
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    LINK = 13
    OPEN = 14
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    FSYNC = 20
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    FSYNCDIR = 30
    ACCESS = 34
    CREATE = 35
    INTERRUPT = 36
    DESTROY = 38
    BATCH_FORGET = 42
    RENAME2 = 45


# INIT flags
ATOMIC_O_TRUNC = 1 << 3
BIG_WRITES = 1 << 5
PARALLEL_DIROPS = 1 << 18

# OPEN answer flags
DIRECT_IO = 1 << 0
NO_FLUSH = 1 << 5

# SETATTR: which fields are valid
SET_MODE = 1 << 0
SET_UID = 1 << 1
SET_GID = 1 << 2
SET_SIZE = 1 << 3
SET_BY_HANDLE = 1 << 6

IN_HEADER = Struct("=IIQQIIIHH")
"""length, operation, unique, node, uid, gid, pid, extension length, padding"""
OUT_HEADER = Struct("=IiQ")
"""length, negative errno, unique"""
INIT_IN = Struct("=IIII")
"""major, minor, max_readahead, flags; newer kernels append more"""
INIT_OUT = Struct("=IIIIHHIIHHI28x")
"""major, minor, max_readahead, flags, max_background, congestion_threshold, max_write, time_gran,
max_pages, map_alignment, flags2"""
ATTRIBUTES = Struct("=6Q3IIIIIIII")
"""inode, size, blocks, atime, mtime, ctime, their nanoseconds, mode, nlink, uid, gid, rdev,
blksize, flags"""
ATTR_OUT = Struct("=QII")
"""attributes valid for s, ns, padding; ATTRIBUTES follow"""
ENTRY_OUT = Struct("=QQQQII")
"""node, generation, name valid for s, attributes valid for s, ns, ns; ATTRIBUTES follow"""
SETATTR_IN = Struct("=II")
"""valid fields, padding; the values follow"""
OPEN_IN = Struct("=II")
"""flags of open(2), open flags"""
OPEN_OUT = Struct("=QII")
"""handle, open flags, padding"""
RELEASE_IN = Struct("=Q")
"""handle; flags follow"""
READ_IN = Struct("=QQI")
"""handle, offset, size; flags follow"""
WRITE_IN = Struct("=QQIIQII")
"""handle, offset, size, write flags, lock owner, flags of open(2), padding; the data follow"""
WRITE_OUT = Struct("=II")
"""size, padding"""
ACCESS_IN = Struct("=II")
"""mask of access(2), padding"""
STATFS_OUT = Struct("=QQQQQIII28x")
"""blocks, free, available, files, free files, block size, name length, fragment size"""
FORGET_IN = Struct("=Q")
"""lookups to forget"""
BATCH_FORGET_IN = Struct("=II")
"""how many FORGET_ONE follow, padding"""
FORGET_ONE = Struct("=QQ")
"""node, lookups to forget"""
DIRENT = Struct("=QQII")
"""inode, offset of the next entry, name length, type; the name follows, padded to 8 bytes"""
