#!/usr/bin/env python3
"""Puts the Lua files of chat formats into the program.

usage: embed.py OUT.c FILE.lua...
"""
import pathlib
import sys


def literal(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


def main():
    with open(sys.argv[1], "w") as out:
        out.write('#include "lua/formats/formats.h"\n\nconst struct ks_format_file ks_format_files[] = {\n')
        for path in map(pathlib.Path, sys.argv[2:]):
            lines = path.read_text().splitlines()
            body = "\n".join("     " + literal(line) for line in lines)
            out.write('    {"%s",\n%s},\n' % (path.stem, body))
        out.write("    {0},\n};\n")


main()
