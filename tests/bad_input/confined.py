"""Runs a program as a container would that forbids these system calls, and namespaces in any way (Docker's default
seccomp profile): confined.py CALL,CALL PROGRAM ARGUMENT..."""

import ctypes
import os
import struct
import sys

NUMBERS = {"unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "ptrace": 101}
CLONE, CLONE3 = 56, 435
NAMESPACES = 0x7E020000  # the flags CLONE_NEW*
LOAD, EQUAL, ANY_OF, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
EPERM, ENOSYS = 1, 38

steps = [(LOAD, 0, 0, 0)]
for name in sys.argv[1].split(","):
    steps += [(EQUAL, 0, 1, NUMBERS[name]), (RETURN, 0, 0, FAIL | EPERM)]
steps += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, FAIL | ENOSYS)]
steps += [(EQUAL, 0, 3, CLONE), (LOAD, 0, 0, 16), (ANY_OF, 0, 1, NAMESPACES), (RETURN, 0, 0, FAIL | EPERM)]
steps += [(RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))

libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, program) == 0, os.strerror(ctypes.get_errno())  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
os.execvp(sys.argv[2], sys.argv[2:])
