#!/usr/bin/env python3
"""check_exports.py LIBRARY: the shared library exposes octet's symbols alone and needs only the system's libraries."""

import re
import subprocess
import sys

# Of the C++ runtime and the C library; libdl and libpthread are part of libc.so.6 where glibc is 2.34 or later.
ALLOWED_LIBRARIES = re.compile(r"(libstdc\+\+|libgcc_s|libc|libm|libdl|libpthread|ld-linux-[\w-]+)\.so\.\d+$")
# Demangled: members of namespace octet, what exceptions and virtual calls need of its types, and the C functions.
ALLOWED_SYMBOLS = re.compile(r"((typeinfo|typeinfo name|vtable|VTT) for )?octet::|octet_\w+$")


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def exported_symbols(library):
    names = [line.split(maxsplit=2)[2] for line in lines_of("nm", "-D", "-C", "--defined-only", library)]
    # A function's return type stands before its name only in templates: skip it.
    return [re.sub(r"^(?:\w[\w:<>, *&]* )(?=octet::\w+<)", "", name) for name in names]


def needed_libraries(library):
    entries = (re.search(r"\(NEEDED\).*\[(.*)\]", line) for line in lines_of("readelf", "-d", library))
    return [entry.group(1) for entry in entries if entry]


def main():
    (library,) = sys.argv[1:]
    symbols, libraries = exported_symbols(library), needed_libraries(library)
    foreign = [name for name in symbols if not ALLOWED_SYMBOLS.match(name)]
    unwanted = [name for name in libraries if not ALLOWED_LIBRARIES.match(name)]
    for name in foreign:
        print(f"{library} exposes {name}: not octet's; hide it (include/octet/export.h, cmake/liboctet.map)")
    for name in unwanted:
        print(f"{library} needs {name}: only libstdc++ and libc may be linked; open it at run time instead")
    if not any(name.startswith("octet::Runtime::Runtime") for name in symbols):
        print(f"{library} does not expose octet::Runtime: is OCTET_API lost?")
        return 1
    print(f"{len(symbols)} symbols exposed, needs {' '.join(libraries)}")
    return 1 if foreign or unwanted else 0


if __name__ == "__main__":
    sys.exit(main())
