#!/usr/bin/env python3
"""Makes the directories of LevelDB that the tests read: needs python3-plyvel and python3-zstandard.

leveldb        tables at several levels, deletions, overwrites, a log
leveldb-zstd   a table whose blocks are compressed with zstd, as the newest LevelDB can
leveldb-order  a comparator of the application
leveldb-long   a key that is longer than a page

Beside each is NAME.expected: the number of records, and the FNV-1a hash of all of them in the order
of their bytes, with their lengths."""

import random
import shutil
import struct
from contextlib import closing

import plyvel
import zstandard

MASK = (1 << 64) - 1


def expect(name, records):
    records = sorted(records)
    digest = 0xCBF29CE484222325
    for record in records:
        for part in record:
            for byte in struct.pack("<I", len(part)) + part:
                digest = (digest ^ byte) * 0x100000001B3 & MASK
    with open(name + ".expected", "w") as file:
        file.write(f"{len(records)} {digest:016x}\n")


def key(number):
    return b"key-%06d" % number


def tables_and_log():
    shutil.rmtree("leveldb", ignore_errors=True)
    source = random.Random(1)
    def value():
        return (b"%d " % source.randrange(1 << 30)) * source.randrange(0, 20)

    options = dict(create_if_missing=True, write_buffer_size=64 << 10, bloom_filter_bits=10)
    with closing(plyvel.DB("leveldb", **options)) as db:
        for _ in range(3):
            for number in source.sample(range(3000), 2500):
                db.put(key(number), value())
            db.compact_range()
        for number in range(3000):
            db.put(key(number), value())
        for number in range(0, 2000, 5):
            db.delete(key(number))
        with db.write_batch() as batch:
            batch.put(key(1), b"")
            batch.put(key(2), bytes(range(256)) * 400)
            batch.delete(key(3))
            batch.put(key(3), b"again")
    # Opened again, so that a log is left whose records are in no table.
    with closing(plyvel.DB("leveldb", **options)) as db:
        db.put(key(4), b"in the log")
        db.delete(key(6))
        db.put(key(6), b"x")
        expect("leveldb", list(db))
    for left in ("LOG", "LOG.old"):
        shutil.os.remove("leveldb/" + left)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 & -(crc & 1))
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def block(entries):
    body = b"".join(
        varint(0) + varint(len(k)) + varint(len(v)) + k + v for k, v in entries
    )
    return body + struct.pack("<II", 0, 1)


def compressed_with_zstd():
    shutil.rmtree("leveldb-zstd", ignore_errors=True)
    shutil.os.mkdir("leveldb-zstd")
    records = [(key(number), b"value " * (number % 50)) for number in range(1000)]
    internal = lambda k: k + struct.pack("<Q", 7 << 8 | 1)
    table, index = b"", []

    def add(content, kind):
        nonlocal table
        handle = varint(len(table)) + varint(len(content))
        table += content + bytes([kind]) + struct.pack("<I", crc32c(content + bytes([kind])))
        return handle

    compress = zstandard.ZstdCompressor().compress
    for start in range(0, 1000, 100):
        part = [(internal(k), v) for k, v in records[start : start + 100]]
        index.append((part[-1][0], add(compress(block(part)), 2)))
    meta = add(block([]), 0)
    footer = meta + add(block(index), 0)
    table += footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    with open("leveldb-zstd/000005.ldb", "wb") as file:
        file.write(table)

    string = lambda text: varint(len(text)) + text
    edit = b"\x01" + string(b"leveldb.BytewiseComparator")
    edit += b"\x02\x06\x09\x00\x03\x07\x04\x07"
    edit += b"\x07\x01\x05" + varint(len(table))
    edit += string(internal(records[0][0])) + string(internal(records[-1][0]))
    with open("leveldb-zstd/MANIFEST-000004", "wb") as file:
        piece = b"\x01" + edit
        file.write(struct.pack("<IH", crc32c(piece), len(edit)) + piece)
    with open("leveldb-zstd/CURRENT", "w") as file:
        file.write("MANIFEST-000004\n")
    expect("leveldb-zstd", records)


def other_order():
    shutil.rmtree("leveldb-order", ignore_errors=True)
    compare = lambda a, b: (a[::-1] > b[::-1]) - (a[::-1] < b[::-1])
    options = dict(comparator=compare, comparator_name=b"from-the-end", write_buffer_size=64 << 10)
    with closing(plyvel.DB("leveldb-order", create_if_missing=True, **options)) as db:
        for number in range(2000):
            db.put(key(number % 1500), b"%d" % number * 10)
        db.compact_range()
        for number in range(100):
            db.delete(key(number))
        expect("leveldb-order", list(db))
    shutil.os.remove("leveldb-order/LOG")


def long_key():
    shutil.rmtree("leveldb-long", ignore_errors=True)
    with closing(plyvel.DB("leveldb-long", create_if_missing=True)) as db:
        db.put(b"k" * 5000, b"value")
        expect("leveldb-long", list(db))
    shutil.os.remove("leveldb-long/LOG")


tables_and_log()
compressed_with_zstd()
other_order()
long_key()
