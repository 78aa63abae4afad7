import static java.nio.charset.StandardCharsets.UTF_8;
import static org.lmdbjava.DbiFlags.*;
import static org.lmdbjava.EnvFlags.*;
import static org.lmdbjava.PutFlags.*;
import static org.lmdbjava.SeekOp.*;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Function;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.lmdbjava.*;

/**
 * Calls lmdbjava's interface and prints the results. It runs with LMDB, which is in lmdbjava's jar,
 * and with the library of this package. The output must be equal.
 */
public final class Client {
  private static final long MAP_SIZE = 256L << 20;
  private static Path directory;
  private static int made;

  public static void main(final String[] arguments) throws Exception {
    directory = Path.of(arguments[0]);
    environment();
    records();
    ranges(null, "default");
    ranges(BACKWARD, "backward");
    duplicates();
    fixed();
    integers();
    nested();
    readers();
    copies();
    databases();
    buffers();
    threads();
    random();
  }

  /** An order in Java, which the library calls. */
  private static final Comparator<ByteBuffer> BACKWARD =
      (a, b) -> {
        final int length = Math.min(a.remaining(), b.remaining());
        for (int i = 0; i < length; i++) {
          final int order = Byte.compareUnsigned(b.get(b.position() + i), a.get(a.position() + i));
          if (order != 0) {
            return order;
          }
        }
        return Integer.compare(b.remaining(), a.remaining());
      };

  private interface Work {
    Object run() throws Exception;
  }

  /** Prints what `work` returns, or the name of its exception. */
  private static void tell(final String name, final Work work) {
    String told;
    try {
      told = String.valueOf(work.run());
    } catch (final Exception e) {
      told = e.getClass().getName();
    }
    System.out.println(name + ": " + told);
  }

  private static File place() throws IOException {
    return Files.createDirectory(directory.resolve("env-" + made++)).toFile();
  }

  private static Env<ByteBuffer> open(final EnvFlags... flags) throws IOException {
    return Env.create().setMapSize(MAP_SIZE).setMaxDbs(20).setMaxReaders(8).open(place(), flags);
  }

  private static ByteBuffer of(final String text) {
    final byte[] bytes = text.getBytes(UTF_8);
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  private static ByteBuffer number(final long number) {
    return ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder()).putLong(number).flip();
  }

  private static String text(final ByteBuffer buffer) {
    return buffer == null ? "none" : UTF_8.decode(buffer.duplicate()).toString();
  }

  private static long number(final ByteBuffer buffer) {
    return buffer.duplicate().order(ByteOrder.nativeOrder()).getLong();
  }

  private static String stat(final Stat stat) {
    return stat.pageSize + " " + stat.entries;
  }

  private static void environment() throws IOException {
    final Env<ByteBuffer> env = open();
    tell("info", () -> env.info().mapSize + " " + env.info().maxReaders + " " + env.info().lastTransactionId);
    tell("stat", () -> stat(env.stat()) + " " + env.stat().depth);
    tell("largest key", env::getMaxKeySize);
    tell("read only", env::isReadOnly);
    tell("names", () -> env.getDbiNames().size());
    tell("no such database", () -> env.openDbi("none"));
    tell("reader check", env::readerCheck);
    env.sync(true);
    env.setMapSize(MAP_SIZE * 2);
    tell("larger", () -> env.info().mapSize);
    env.close();
    tell("closed", () -> env.isClosed());
    tell("begun when closed", env::txnRead);
    tell("no directory", () -> Env.create().open(directory.resolve("none").toFile()));
    tell("read only, none there", () -> Env.create().open(place(), MDB_RDONLY_ENV));
    final File file = directory.resolve("file").toFile();
    try (Env<ByteBuffer> one = Env.create().setMapSize(MAP_SIZE).open(file, MDB_NOSUBDIR)) {
      one.openDbi((byte[]) null).put(of("a"), of("1"));
    }
    try (Env<ByteBuffer> one = Env.create().open(file, MDB_NOSUBDIR, MDB_RDONLY_ENV)) {
      final Dbi<ByteBuffer> dbi = one.openDbi((byte[]) null);
      try (Txn<ByteBuffer> txn = one.txnRead()) {
        tell("read only", () -> text(dbi.get(txn, of("a"))) + " " + one.isReadOnly());
      }
      tell("written though read only", one::txnWrite);
    }
  }

  private static void records() throws IOException {
    try (Env<ByteBuffer> env = open(MDB_NOSYNC)) {
      final Dbi<ByteBuffer> dbi = env.openDbi("plain", MDB_CREATE);
      tell("name", () -> new String(dbi.getName(), UTF_8));
      dbi.put(of("b"), of("2"));
      try (Txn<ByteBuffer> txn = env.txnWrite()) {
        tell("put", () -> dbi.put(txn, of("a"), of("1")));
        tell("put once more", () -> dbi.put(txn, of("a"), of("one"), MDB_NOOVERWRITE));
        tell("get", () -> text(dbi.get(txn, of("a"))) + " " + text(txn.key()) + " " + text(txn.val()));
        tell("get none", () -> text(dbi.get(txn, of("none"))));
        tell("append", () -> dbi.put(txn, of("c"), of("3"), MDB_APPEND));
        tell("append before", () -> dbi.put(txn, of("aa"), of("3"), MDB_APPEND));
        tell("empty value", () -> dbi.put(txn, of("e"), of("")));
        tell("empty value got", () -> text(dbi.get(txn, of("e"))).length());
        tell("long key", () -> dbi.put(txn, ByteBuffer.allocateDirect(512), of("")));
        tell("large value", () -> dbi.put(txn, of("large"), ByteBuffer.allocateDirect(1 << 20)));
        tell("large value got", () -> dbi.get(txn, of("large")).remaining());
        tell("reserve", () -> dbi.reserve(txn, of("r"), 3).put(of("abc")).remaining());
        tell("reserved", () -> text(dbi.get(txn, of("r"))));
        tell("delete", () -> dbi.delete(txn, of("b")));
        tell("delete none", () -> dbi.delete(txn, of("b")));
        tell("stat", () -> stat(dbi.stat(txn)));
        txn.commit();
        tell("used when committed", () -> dbi.put(txn, of("x"), of("")));
        tell("committed twice", () -> { txn.commit(); return ""; });
      }
      tell("delete alone", () -> dbi.delete(of("large")));
      try (Txn<ByteBuffer> txn = env.txnRead()) {
        tell("written by a reader", () -> dbi.put(txn, of("x"), of("")));
        tell("id", txn::getId);
      }
      try (Txn<ByteBuffer> txn = env.txnWrite(); Cursor<ByteBuffer> cursor = dbi.openCursor(txn)) {
        tell("cursor put", () -> cursor.put(of("d"), of("4")));
        tell("cursor put once more", () -> cursor.put(of("d"), of("5"), MDB_NOOVERWRITE));
        tell("cursor at", () -> text(cursor.key()) + text(cursor.val()));
        tell("cursor reserve", () -> cursor.reserve(of("f"), 4).put(of("wxyz")).remaining());
        for (final SeekOp op : List.of(MDB_FIRST, MDB_NEXT, MDB_NEXT, MDB_PREV, MDB_LAST, MDB_GET_CURRENT, MDB_NEXT, MDB_PREV)) {
          tell(op.name(), () -> cursor.seek(op) + " " + text(cursor.key()) + text(cursor.val()));
        }
        tell("to", () -> cursor.get(of("d"), GetOp.MDB_SET_KEY) + " " + text(cursor.val()));
        tell("to none", () -> cursor.get(of("dd"), GetOp.MDB_SET));
        tell("from", () -> cursor.get(of("dd"), GetOp.MDB_SET_RANGE) + " " + text(cursor.key()));
        tell("replace", () -> cursor.put(of("e"), of("new"), MDB_CURRENT));
        cursor.delete();
        tell("behind", () -> cursor.seek(MDB_GET_CURRENT) + " " + text(cursor.key()));
        tell("count", cursor::count);
      }
      try (Txn<ByteBuffer> txn = env.txnRead()) {
        tell("all", () -> all(dbi.iterate(txn)));
      }
    }
  }

  private static String all(final CursorIterable<ByteBuffer> records) {
    final StringBuilder told = new StringBuilder();
    try (records) {
      for (final CursorIterable.KeyVal<ByteBuffer> record : records) {
        told.append(text(record.key())).append('=').append(text(record.val())).append(' ');
      }
    }
    return told.toString();
  }

  /** Each kind of range, with bounds that exist and bounds that do not. */
  private static void ranges(final Comparator<ByteBuffer> order, final String name) throws IOException {
    try (Env<ByteBuffer> env = open(MDB_NOSYNC)) {
      final Dbi<ByteBuffer> dbi = env.openDbi(name, order, order != null, MDB_CREATE);
      for (int i = 1; i < 9; i++) {
        dbi.put(of("k" + i * 2), of("" + i));
      }
      try (Txn<ByteBuffer> txn = env.txnRead()) {
        tell(name, () -> all(dbi.iterate(txn)));
        tell(name, () -> all(dbi.iterate(txn, KeyRange.allBackward())));
        for (final String bound : List.of("k", "k1", "k4", "k5", "k8", "k9")) {
          final List<Function<ByteBuffer, KeyRange<ByteBuffer>>> one =
              List.of(KeyRange::atLeast, KeyRange::atLeastBackward, KeyRange::atMost, KeyRange::atMostBackward,
                  KeyRange::greaterThan, KeyRange::greaterThanBackward, KeyRange::lessThan, KeyRange::lessThanBackward);
          for (int kind = 0; kind < one.size(); kind++) {
            final KeyRange<ByteBuffer> range = one.get(kind).apply(of(bound));
            tell(name + " " + kind + " " + bound, () -> all(dbi.iterate(txn, range)));
          }
          for (final String end : List.of("k2", "k5", "k6", "kz")) {
            final List<KeyRange<ByteBuffer>> two =
                List.of(KeyRange.closed(of(bound), of(end)), KeyRange.closedBackward(of(bound), of(end)),
                    KeyRange.closedOpen(of(bound), of(end)), KeyRange.closedOpenBackward(of(bound), of(end)),
                    KeyRange.open(of(bound), of(end)), KeyRange.openBackward(of(bound), of(end)),
                    KeyRange.openClosed(of(bound), of(end)), KeyRange.openClosedBackward(of(bound), of(end)));
            for (int kind = 0; kind < two.size(); kind++) {
              final KeyRange<ByteBuffer> range = two.get(kind);
              tell(name + " " + kind + " " + bound + " " + end, () -> all(dbi.iterate(txn, range)));
            }
          }
        }
      }
    }
  }

  private static void duplicates() throws IOException {
    for (final Comparator<ByteBuffer> order : Arrays.asList(null, BACKWARD)) {
      try (Env<ByteBuffer> env = open(MDB_NOSYNC)) {
        final Dbi<ByteBuffer> dbi = env.openDbi("multi", order, order != null, MDB_CREATE, MDB_DUPSORT);
        try (Txn<ByteBuffer> txn = env.txnWrite(); Cursor<ByteBuffer> cursor = dbi.openCursor(txn)) {
          for (int i = 0; i < 12; i++) {
            final String pair = "" + i;
            tell("pair", () -> dbi.put(txn, of("k" + pair.length()), of("v" + pair)));
          }
          tell("same pair", () -> dbi.put(txn, of("k1"), of("v1"), MDB_NODUPDATA));
          tell("same pair", () -> dbi.put(txn, of("k1"), of("v1")));
          tell("same key", () -> dbi.put(txn, of("k1"), of("v99"), MDB_NOOVERWRITE));
          tell("reserve", () -> dbi.reserve(txn, of("k3"), 3).put(of("abc")).remaining());
          tell("reserved", () -> text(dbi.get(txn, of("k3"))));
          tell("cursor reserve", () -> cursor.reserve(of("k4"), 3).put(of("def")).remaining());
          tell("reserved", () -> text(dbi.get(txn, of("k4"))));
          final List<SeekOp> steps =
              List.of(MDB_FIRST, MDB_LAST_DUP, MDB_PREV_DUP, MDB_FIRST_DUP, MDB_PREV_DUP, MDB_NEXT_DUP, MDB_NEXT_NODUP, MDB_NEXT_DUP,
                  MDB_NEXT_DUP, MDB_NEXT, MDB_PREV, MDB_PREV_NODUP, MDB_NEXT_NODUP, MDB_LAST, MDB_NEXT, MDB_PREV);
          for (final SeekOp op : steps) {
            tell(op.name(), () -> cursor.seek(op) + " " + text(cursor.key()) + " " + text(cursor.val()));
          }
          tell("both", () -> cursor.get(of("k1"), of("v5"), MDB_GET_BOTH) + " " + text(cursor.val()));
          tell("count", cursor::count);
          tell("no both", () -> cursor.get(of("k1"), of("v55"), MDB_GET_BOTH));
          tell("both from", () -> cursor.get(of("k1"), of("v55"), MDB_GET_BOTH_RANGE) + " " + text(cursor.val()));
          cursor.delete();
          tell("behind", () -> cursor.seek(MDB_GET_CURRENT) + " " + text(cursor.val()));
          tell("pair deleted", () -> dbi.delete(txn, of("k1"), of("v3")));
          tell("no pair deleted", () -> dbi.delete(txn, of("k1"), of("v33")));
          tell("all", () -> all(dbi.iterate(txn)));
          tell("backward", () -> all(dbi.iterate(txn, KeyRange.closedBackward(of("k3"), of("k1")))));
          tell("to", () -> cursor.get(of("k2"), GetOp.MDB_SET_KEY));
          cursor.delete(MDB_NODUPDATA);
          tell("key deleted", () -> dbi.delete(txn, of("k1")));
          tell("all", () -> all(dbi.iterate(txn)));
          tell("stat", () -> stat(dbi.stat(txn)));
          tell("flags", () -> dbi.listFlags(txn));
        }
      }
    }
  }

  private static void fixed() throws IOException {
    try (Env<ByteBuffer> env = open(MDB_NOSYNC)) {
      final Dbi<ByteBuffer> dbi = env.openDbi("fixed", MDB_CREATE, MDB_DUPSORT, MDB_DUPFIXED, MDB_INTEGERDUP);
      try (Txn<ByteBuffer> txn = env.txnWrite(); Cursor<ByteBuffer> cursor = dbi.openCursor(txn)) {
        final ByteBuffer values = ByteBuffer.allocateDirect(8 * 50).order(ByteOrder.nativeOrder());
        for (long i = 0; i < 50; i++) {
          values.putLong(i * 7919 % 101);
        }
        values.flip();
        cursor.putMultiple(of("key"), values, 50, MDB_MULTIPLE);
        tell("to", () -> cursor.get(of("key"), GetOp.MDB_SET_KEY) + " " + number(cursor.val()) + " " + cursor.count());
        tell("multiple", () -> {
          long sum = 0, count = 0;
          for (boolean is = cursor.seek(MDB_GET_MULTIPLE); is; is = cursor.seek(MDB_NEXT_MULTIPLE)) {
            final ByteBuffer page = cursor.val().duplicate().order(ByteOrder.nativeOrder());
            while (page.hasRemaining()) {
              sum = sum * 31 + page.getLong();
              count++;
            }
          }
          return count + " " + sum;
        });
        tell("both", () -> cursor.get(of("key"), number(3), MDB_GET_BOTH_RANGE) + " " + number(cursor.val()));
        tell("flags", () -> dbi.listFlags(txn));
      }
    }
  }

  private static void integers() throws IOException {
    try (Env<ByteBuffer> env = open(MDB_NOSYNC)) {
      final Dbi<ByteBuffer> dbi = env.openDbi("integers", MDB_CREATE, MDB_INTEGERKEY);
      try (Txn<ByteBuffer> txn = env.txnWrite()) {
        for (long i = 0; i < 1000; i++) {
          dbi.put(txn, number(i * 7919 % 1009), number(i));
        }
        final List<Function<ByteBuffer, KeyRange<ByteBuffer>>> ranges =
            List.of(KeyRange::atLeast, KeyRange::atMost, KeyRange::greaterThanBackward, KeyRange::lessThan);
        for (int kind = 0; kind < ranges.size(); kind++) {
          final KeyRange<ByteBuffer> range = ranges.get(kind).apply(number(300));
          tell("integers " + kind, () -> {
            long sum = 0;
            try (CursorIterable<ByteBuffer> records = dbi.iterate(txn, range)) {
              for (final CursorIterable.KeyVal<ByteBuffer> record : records) {
                sum = sum * 31 + number(record.key()) * 7 + number(record.val());
              }
            }
            return sum;
          });
        }
        txn.commit();
      }
    }
  }

  private static void nested() throws IOException {
    try (Env<ByteBuffer> env = open(MDB_NOSYNC)) {
      final Dbi<ByteBuffer> dbi = env.openDbi("nested", MDB_CREATE);
      try (Txn<ByteBuffer> outer = env.txnWrite()) {
        dbi.put(outer, of("a"), of("1"));
        try (Txn<ByteBuffer> inner = env.txn(outer)) {
          dbi.put(inner, of("b"), of("2"));
          tell("parent", () -> inner.getParent() == outer);
          try (Txn<ByteBuffer> innermost = env.txn(inner)) {
            dbi.delete(innermost, of("a"));
            innermost.abort();
          }
          tell("outer while inner", () -> dbi.put(outer, of("x"), of("")));
          inner.commit();
        }
        try (Txn<ByteBuffer> inner = env.txn(outer)) {
          dbi.put(inner, of("c"), of("3"));
        }
        tell("reader in writer", () -> env.txn(outer, TxnFlags.MDB_RDONLY_TXN));
        tell("all", () -> all(dbi.iterate(outer)));
        outer.commit();
      }
      try (Txn<ByteBuffer> txn = env.txnRead()) {
        tell("all", () -> all(dbi.iterate(txn)));
        tell("in a reader", () -> env.txn(txn));
      }
    }
  }

  private static void readers() throws IOException {
    try (Env<ByteBuffer> env = open(MDB_NOSYNC, MDB_NOTLS)) {
      final Dbi<ByteBuffer> dbi = env.openDbi("readers", MDB_CREATE);
      dbi.put(of("a"), of("1"));
      try (Txn<ByteBuffer> txn = env.txnRead(); Cursor<ByteBuffer> cursor = dbi.openCursor(txn)) {
        dbi.put(of("b"), of("2"));
        tell("before", () -> txn.getId() + " " + all(dbi.iterate(txn)));
        tell("renewed without reset", () -> { txn.renew(); return ""; });
        txn.reset();
        tell("reset", () -> text(dbi.get(txn, of("a"))));
        tell("reset twice", () -> { txn.reset(); return ""; });
        txn.renew();
        cursor.renew(txn);
        tell("after", () -> txn.getId() + " " + all(dbi.iterate(txn)));
        tell("cursor", () -> cursor.last() + " " + text(cursor.key()));
        cursor.close();
        tell("cursor closed", cursor::first);
      }
      final List<Txn<ByteBuffer>> txns = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        tell("reader " + i, () -> {
          txns.add(env.txnRead());
          return text(dbi.get(txns.get(txns.size() - 1), of("a")));
        });
      }
      tell("readers", () -> env.info().numReaders + " " + env.info().maxReaders);
      txns.forEach(Txn::close);
    }
  }

  private static void copies() throws IOException {
    try (Env<ByteBuffer> env = open(MDB_NOSYNC)) {
      final Dbi<ByteBuffer> dbi = env.openDbi("copied", MDB_CREATE);
      for (int i = 0; i < 500; i++) {
        dbi.put(of("key" + i), of("value" + i));
      }
      for (final CopyFlags[] flags : new CopyFlags[][] {{}, {CopyFlags.MDB_CP_COMPACT}}) {
        final File copy = place();
        env.copy(copy, flags);
        try (Env<ByteBuffer> other = Env.create().setMaxDbs(2).open(copy, MDB_RDONLY_ENV)) {
          final Dbi<ByteBuffer> copied = other.openDbi("copied");
          try (Txn<ByteBuffer> txn = other.txnRead()) {
            tell("copied", () -> stat(copied.stat(txn)) + " " + all(copied.iterate(txn)).hashCode());
          }
        }
        tell("copied once more", () -> { env.copy(copy, flags); return ""; });
      }
      tell("copied to a file", () -> { env.copy(directory.resolve("file").toFile()); return ""; });
    }
  }

  private static void databases() throws IOException {
    try (Env<ByteBuffer> env = open(MDB_NOSYNC)) {
      for (int i = 0; i < 22; i++) {
        final int number = i;
        tell("database " + i, () -> {
          final Dbi<ByteBuffer> dbi = env.openDbi("database " + number, MDB_CREATE);
          dbi.put(of("a"), of("" + number));
          return new String(dbi.getName(), UTF_8);
        });
      }
      tell("names", () -> env.getDbiNames().stream().map(name -> new String(name, UTF_8)).toList());
      final Dbi<ByteBuffer> dbi = env.openDbi("database 3");
      final Dbi<ByteBuffer> main = env.openDbi((byte[]) null);
      try (Txn<ByteBuffer> txn = env.txnWrite()) {
        dbi.drop(txn);
        tell("emptied", () -> stat(dbi.stat(txn)));
        tell("written over", () -> main.put(txn, of("database 5"), of("x")));
        txn.commit();
      }
      try (Txn<ByteBuffer> txn = env.txnWrite()) {
        dbi.drop(txn, true);
        txn.commit();
      }
      tell("gone", () -> env.openDbi("database 3"));
      tell("other flags", () -> new String(env.openDbi("database 4", MDB_DUPSORT).getName(), UTF_8));
      tell("names", () -> env.getDbiNames().size());
      tell("stat", () -> stat(env.stat()));
    }
  }

  private static <T> void buffers(final String name, final BufferProxy<T> proxy, final Function<String, T> of, final Function<T, String> text)
      throws IOException {
    try (Env<T> env = Env.create(proxy).setMapSize(MAP_SIZE).setMaxDbs(2).open(place(), MDB_NOSYNC)) {
      final Dbi<T> dbi = env.openDbi("buffers", MDB_CREATE);
      try (Txn<T> txn = env.txnWrite(); Cursor<T> cursor = dbi.openCursor(txn)) {
        for (int i = 0; i < 50; i++) {
          dbi.put(txn, of.apply("key" + i), of.apply("value" + i));
        }
        tell(name, () -> text.apply(dbi.get(txn, of.apply("key7"))));
        tell(name, () -> cursor.get(of.apply("key70"), GetOp.MDB_SET_RANGE) + text.apply(cursor.key()) + text.apply(cursor.val()));
        tell(name, () -> {
          final StringBuilder told = new StringBuilder();
          try (CursorIterable<T> records = dbi.iterate(txn, KeyRange.closed(of.apply("key2"), of.apply("key33")))) {
            records.forEach(record -> told.append(text.apply(record.key())).append(text.apply(record.val())));
          }
          return told;
        });
        cursor.delete();
        cursor.close();
        txn.commit();
      }
    }
  }

  private static void buffers() throws IOException {
    final Function<String, ByteBuf> netty = text -> PooledByteBufAllocator.DEFAULT.directBuffer(text.length()).writeBytes(text.getBytes(UTF_8));
    final Function<String, DirectBuffer> agrona = text -> {
      final UnsafeBuffer buffer = new UnsafeBuffer(ByteBuffer.allocateDirect(text.length()));
      buffer.putBytes(0, text.getBytes(UTF_8));
      return buffer;
    };
    buffers("optimal", ByteBufferProxy.PROXY_OPTIMAL, Client::of, Client::text);
    buffers("safe", ByteBufferProxy.PROXY_SAFE, Client::of, Client::text);
    buffers("bytes", ByteArrayProxy.PROXY_BA, text -> text.getBytes(UTF_8), bytes -> new String(bytes, UTF_8));
    buffers("netty", ByteBufProxy.PROXY_NETTY, netty, buffer -> buffer.toString(UTF_8));
    buffers("agrona", DirectBufferProxy.PROXY_DB, agrona, buffer -> buffer.getStringWithoutLengthUtf8(0, buffer.capacity()));
  }

  /** One thread moves money between accounts, four check that the sum does not change. */
  private static void threads() throws Exception {
    try (Env<ByteBuffer> env = open(MDB_NOSYNC)) {
      final Dbi<ByteBuffer> dbi = env.openDbi("accounts", MDB_CREATE);
      for (int i = 0; i < 20; i++) {
        dbi.put(number(i), number(100));
      }
      final ExecutorService pool = Executors.newFixedThreadPool(4);
      final List<Future<Long>> sums = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        sums.add(pool.submit(() -> {
          long wrong = 0;
          for (int round = 0; round < 300; round++) {
            try (Txn<ByteBuffer> txn = env.txnRead(); CursorIterable<ByteBuffer> records = dbi.iterate(txn)) {
              long sum = 0;
              for (final CursorIterable.KeyVal<ByteBuffer> record : records) {
                sum += number(record.val());
              }
              wrong += sum == 2000 ? 0 : 1;
            }
          }
          return wrong;
        }));
      }
      final Random random = new Random(3);
      for (int round = 0; round < 300; round++) {
        try (Txn<ByteBuffer> txn = env.txnWrite()) {
          final int from = random.nextInt(20), to = (from + 1 + random.nextInt(19)) % 20;
          final long amount = random.nextInt(10);
          dbi.put(txn, number(from), number(number(dbi.get(txn, number(from))) - amount));
          dbi.put(txn, number(to), number(number(dbi.get(txn, number(to))) + amount));
          txn.commit();
        }
      }
      for (final Future<Long> sum : sums) {
        tell("wrong sums", sum::get);
      }
      pool.shutdown();
    }
  }

  /** Random transactions, compared with a map of Java's. */
  private static void random() throws IOException {
    final Random random = new Random(7);
    final Map<String, String> model = new TreeMap<>();
    try (Env<ByteBuffer> env = open(MDB_NOSYNC)) {
      final Dbi<ByteBuffer> dbi = env.openDbi("random", MDB_CREATE);
      for (int round = 0; round < 200; round++) {
        final Map<String, String> before = new TreeMap<>(model);
        try (Txn<ByteBuffer> txn = env.txnWrite(); Cursor<ByteBuffer> cursor = dbi.openCursor(txn)) {
          for (int step = random.nextInt(30); step > 0; step--) {
            final String key = "key" + random.nextInt(500), value = "v".repeat(random.nextInt(300)) + step;
            switch (random.nextInt(5)) {
              case 0 -> { dbi.delete(txn, of(key)); model.remove(key); }
              case 1 -> {
                if (cursor.get(of(key), GetOp.MDB_SET_RANGE)) {
                  model.remove(text(cursor.key()));
                  cursor.delete();
                }
              }
              case 2 -> { dbi.reserve(txn, of(key), value.length()).put(of(value)); model.put(key, value); }
              default -> { dbi.put(txn, of(key), of(value)); model.put(key, value); }
            }
          }
          cursor.close();
          if (random.nextInt(4) == 0) {
            txn.abort();
            model.clear();
            model.putAll(before);
          } else {
            txn.commit();
          }
        }
        if (round % 10 == 0) {
          final StringBuilder wanted = new StringBuilder();
          model.forEach((key, value) -> wanted.append(key).append('=').append(value).append(' '));
          try (Txn<ByteBuffer> txn = env.txnRead()) {
            tell("as the map is", () -> all(dbi.iterate(txn)).contentEquals(wanted) + " " + model.size());
          }
        }
      }
    }
  }
}
