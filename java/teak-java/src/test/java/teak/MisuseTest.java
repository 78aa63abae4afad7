package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.RandomAccessFile;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nothing that a program does crashes the virtual machine, and what has ended says so. */
class MisuseTest {
    private static final Logger LOGGER = Logger.getLogger("teak");

    static {
        // These tests lose many transactions.
        LOGGER.setUseParentHandlers(false);
    }

    @TempDir
    Path directory;

    private static byte[] bytes(String text) {
        return text.getBytes();
    }

    /** A write transaction; waits for the one of another thread for a while only. */
    private static WriteTxn writer(Database database) {
        WriteTxn txn = database.beginWrite(Duration.ofMillis(100));
        if (txn == null) {
            throw new IllegalStateException("another thread writes");
        }
        return txn;
    }

    /** Objects of all kinds, open, on records. */
    private static Map<String, Object> objects(Database database) {
        try (WriteTxn txn = writer(database)) {
            for (int i = 0; i < 1000; i++) {
                txn.table("t").set(bytes(String.format("%04d", i)), new byte[100]);
                txn.multiTable("m").add(bytes("k"), bytes("" + i));
            }
            txn.commit();
        }
        Map<String, Object> objects = new LinkedHashMap<>();
        ReadTxn read = database.beginRead();
        ChangeFeed feed = database.changes();
        WriteTxn first = writer(database);
        first.table("t").set(bytes("0000"), bytes("new"));
        objects.put("ticket", first.commit());
        objects.put("changes", feed.next(Duration.ofSeconds(5)));
        WriteTxn write = writer(database);
        for (Txn txn : List.of(read, write)) {
            Table table = txn.table("t");
            Scan scan = table.scan(Range.all());
            scan.next();
            Cursor cursor = table.cursor();
            cursor.first();
            String name = txn == read ? "read " : "write ";
            objects.put(name + "iterator", table.scan(Range.all()).iterator());
            objects.put(name + "scan", scan);
            objects.put(name + "cursor", cursor);
            objects.put(name + "table", table);
            objects.put(name + "typed", table.typed(Codecs.bytes(), Codecs.bytes()));
            objects.put(name + "map", table.asMap());
            objects.put(name + "multi", txn.multiTable("m"));
        }
        objects.put("savepoint", write.savepoint());
        objects.put("read", read);
        objects.put("write", write);
        objects.put("feed", feed);
        objects.put("database", database);
        return objects;
    }

    private static Object argument(Class<?> type, Random random) {
        if (type == byte[].class) {
            return bytes(String.format("%04d", random.nextInt(1100)));
        } else if (type == Object.class) {
            return bytes("0001");
        } else if (type == String.class) {
            return random.nextInt(3) == 0 ? "none" : "t";
        } else if (type == Range.class) {
            return random.nextBoolean() ? Range.all() : Range.atMostBackward(bytes("0500"));
        } else if (type == Duration.class) {
            return Duration.ZERO;
        } else if (type == Durability.class) {
            return Durability.ASYNC;
        } else if (type == TableOptions.class) {
            return TableOptions.create();
        } else if (type == Path.class) {
            return Path.of("/nowhere/at/all");
        } else if (type == Iterable.class) {
            return List.of(new Entry(bytes("a"), bytes("b")));
        } else if (type == Function.class) {
            return (Function<Object, Object>) object -> object;
        } else if (type == Consumer.class) {
            return (Consumer<Object>) object -> {};
        } else if (type == BiFunction.class) {
            return (BiFunction<Object, Object, Object>) (key, value) -> value;
        } else if (type == BiConsumer.class) {
            return (BiConsumer<Object, Object>) (key, value) -> {};
        } else if (type == Map.class) {
            return Map.of(bytes("a"), bytes("b"));
        } else if (type == Codec.class) {
            return Codecs.bytes();
        } else if (type == boolean.class) {
            return random.nextBoolean();
        } else if (type == long.class) {
            return (long) random.nextInt(5);
        } else if (type == int.class) {
            return random.nextInt(5);
        }
        return null;
    }

    private static List<Method> methods(Object object) {
        List<Method> methods = new ArrayList<>();
        Class<?> type = object.getClass();
        Class<?> visible = Modifier.isPublic(type.getModifiers()) ? type : type.getInterfaces()[0];
        if (object instanceof java.util.NavigableMap) {
            visible = java.util.NavigableMap.class;
        }
        for (Method method : visible.getMethods()) {
            boolean isOurs = method.getDeclaringClass() != Object.class
                    && !Modifier.isStatic(method.getModifiers());
            if (isOurs) {
                methods.add(method);
            }
        }
        return methods;
    }

    /** Returns what was thrown, or null. */
    private static Throwable call(Object object, Method method, Random random) {
        Object[] arguments = new Object[method.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = argument(method.getParameterTypes()[i], random);
        }
        try {
            Object result = method.invoke(object, arguments);
            use(result);
            return null;
        } catch (InvocationTargetException thrown) {
            return thrown.getCause();
        } catch (IllegalAccessException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** Reads what was returned, and closes it. */
    private static void use(Object result) throws InvocationTargetException {
        try {
            if (result instanceof ByteBuffer buffer) {
                for (int i = 0; i < buffer.limit(); i++) {
                    buffer.get(i);
                }
            } else if (result instanceof Stream<?> stream) {
                stream.limit(100).forEach(entry -> {});
            } else if (result instanceof Scan scan) {
                while (scan.next()) {
                    scan.value();
                }
            } else if (result instanceof Set<?> || result instanceof Map<?, ?>) {
                result.hashCode();
            } else if (result instanceof AutoCloseable closeable) {
                closeable.close();
            }
        } catch (Throwable thrown) {
            throw new InvocationTargetException(thrown);
        }
    }

    /** What may be used for ever. */
    private static final Set<String> LASTING = Set.of("close", "abort", "isOpen", "name", "txn",
            "table", "typed", "asMap", "compareTo", "comparator", "navigableKeySet", "keySet",
            "entrySet", "values", "sequencedValues", "equals", "descendingMap", "descendingKeySet", "forEachRemaining");

    private void ended(Consumer<Map<String, Object>> end, Set<String> unaffected) {
        Random random = new Random(1);
        Database database = Database.open(directory.resolve("x.teak"));
        Map<String, Object> objects = objects(database);
        end.accept(objects);
        List<String> wrong = new ArrayList<>();
        int count = 0;
        for (Map.Entry<String, Object> object : objects.entrySet()) {
            if (unaffected.contains(object.getKey())) {
                continue;
            }
            for (Method method : methods(object.getValue())) {
                Throwable thrown = call(object.getValue(), method, random);
                count++;
                boolean isLasting = LASTING.contains(method.getName())
                        || object.getKey().equals("ticket") && method.getName().equals("id");
                boolean isRight = thrown instanceof IllegalStateException
                        || thrown instanceof UnsupportedOperationException
                        || thrown instanceof IllegalArgumentException
                                && method.getName().equals("subMap")
                        || isLasting && thrown == null;
                if (!isRight) {
                    wrong.add(object.getKey() + "." + method.getName() + ": " + thrown);
                }
            }
        }
        database.close();
        assertEquals(List.of(), wrong);
        assertTrue(count > 100);
    }

    @Test
    void everything_says_that_the_database_was_closed() {
        ended(objects -> ((Database) objects.get("database")).close(), Set.of());
    }

    @Test
    void what_belongs_to_a_transaction_says_that_it_has_ended() {
        ended(objects -> {
            ((Txn) objects.get("read")).close();
            ((Txn) objects.get("write")).close();
        }, Set.of("database", "feed", "changes", "ticket"));
    }

    @Test
    void what_belongs_to_a_commit_says_that_it_has_ended() {
        ended(objects -> {
            ((Txn) objects.get("read")).close();
            ((WriteTxn) objects.get("write")).commit();
        }, Set.of("database", "feed", "changes", "ticket"));
    }

    @Test
    void a_value_is_not_readable_after_its_transaction() {
        try (Database database = Database.open(directory.resolve("x.teak"))) {
            database.writing(txn -> txn.table("t").set(bytes("a"), new byte[100_000]));
            ReadTxn txn = database.beginRead();
            ByteBuffer first = txn.table("t").getBuffer(bytes("a"));
            assertEquals(0, first.get(99_999));
            database.writing(other -> other.table("t").set(bytes("a"), bytes("new")));
            assertTrue(txn.renew());
            ByteBuffer second = txn.table("t").getBuffer(bytes("a"));
            assertEquals('n', second.get(0));
            txn.close();
            if (teak.internal.Calls.CALLS.mode().equals("FFM")) {
                assertThrows(IllegalStateException.class, () -> first.get(0));
                assertThrows(IllegalStateException.class, () -> second.get(0));
            }
        }
    }

    @Test
    void a_file_that_another_program_truncates_gives_errors() throws Exception {
        Path path = directory.resolve("x.teak");
        try (Database database = Database.open(path)) {
            database.writing(txn -> {
                for (int i = 0; i < 100; i++) {
                    txn.table("t").set(bytes("" + i), new byte[3000]);
                }
                txn.table("t").set(bytes("large"), new byte[1 << 20]);
            });
        }
        Database database = Database.open(path);
        Table table = database.beginRead().table("t");
        ByteBuffer large = table.getBuffer(bytes("large"));
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.setLength(64 << 10);
        }
        for (int i = 0; i < large.limit(); i++) {
            assertEquals(0, large.get(i));
        }
        assertThrows(TeakException.class, () -> table.get(bytes("99")));
        assertThrows(TeakException.class, () -> table.stream(Range.all()).count());
        assertThrows(TeakException.class, database::close);
    }

    @Test
    void objects_of_another_database_are_independent() {
        Database one = Database.openInMemory();
        Database other = Database.openInMemory();
        one.writing(txn -> txn.table("t").set(bytes("a"), bytes("1")));
        Table table = one.beginRead().table("t");
        other.close();
        assertEquals(1, table.size());
        one.close();
        assertThrows(ClosedException.class, table::size);
    }

    @Test
    void eight_threads_use_and_close_everything_in_any_order() throws Exception {
        long seconds = Long.getLong("teak.misuse.seconds", 4);
        long seed = Long.getLong("teak.seed", System.nanoTime());
        Crowd crowd = new Crowd(directory, seed, seconds);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Random random = new Random(seed + i);
            threads.add(new Thread(() -> crowd.misuse(random)));
        }
        threads.add(new Thread(crowd::endOthers));
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join(seconds * 1000 + 60_000);
            assertFalse(thread.isAlive(), () -> "a call does not return, seed " + seed + ": "
                    + Arrays.toString(thread.getStackTrace()));
        }
        crowd.closeAll();
        System.out.println("misuse: " + crowd + ", seed " + seed);
        assertEquals(List.of(), List.copyOf(crowd.wrong), "seed " + seed);
        assertTrue(crowd.calls.get() > 100);
        assertTrue(crowd.waits.get() > 0);
    }

    /** Threads that call anything on the same objects, while these are closed and replaced. */
    private static final class Crowd {
        private final Path directory;
        private final Random random;
        private final long end;
        /** The newest database, and objects of this one and of earlier ones. */
        private final AtomicReferenceArray<Object> shared = new AtomicReferenceArray<>(32);
        /** Databases that were replaced. Threads may wait for their writers. */
        private final Queue<Database> replaced = new ConcurrentLinkedQueue<>();
        final Queue<String> wrong = new ConcurrentLinkedQueue<>();
        final AtomicLong calls = new AtomicLong();
        final AtomicLong waits = new AtomicLong();
        private final AtomicLong databases = new AtomicLong();
        private final AtomicLong segments = new AtomicLong();
        private final AtomicLong users = new AtomicLong();

        Crowd(Path directory, long seed, long seconds) {
            this.directory = directory;
            this.random = new Random(seed);
            this.end = System.nanoTime() + seconds * 1_000_000_000;
        }

        private boolean isOver() {
            return System.nanoTime() >= end || !wrong.isEmpty();
        }

        void misuse(Random random) {
            users.incrementAndGet();
            try {
                while (!isOver()) {
                    if (shared.get(0) == null || random.nextInt(3000) == 0) {
                        replace(random);
                    } else {
                        use(random);
                    }
                }
            } catch (Throwable thrown) {
                check(thrown, this, "misuse");
            } finally {
                users.decrementAndGet();
            }
        }

        /** Ends write transactions and databases for which threads wait. */
        void endOthers() {
            while (!isOver() || users.get() > 0) {
                for (int i = 0; i < shared.length(); i++) {
                    if (shared.get(i) instanceof WriteTxn txn && random.nextInt(5) == 0) {
                        txn.close();
                    }
                }
                boolean isOver = isOver();
                if (isOver || random.nextInt(20) == 0) {
                    close(replaced.poll());
                }
                if (isOver) {
                    close(shared.get(0));
                }
                LockSupport.parkNanos(1_000_000);
            }
        }

        void closeAll() {
            replaced.forEach(this::close);
            for (int i = 0; i < shared.length(); i++) {
                close(shared.get(i));
            }
        }

        private void close(Object object) {
            if (object instanceof Database database) {
                database.close();
            }
        }

        /** Opens a database, and puts objects of it in the places of others. */
        private void replace(Random random) {
            Path path = directory.resolve("shared-" + random.nextInt(3) + ".teak");
            Database database;
            try {
                database = random.nextBoolean() ? Database.open(path) : Database.openInMemory();
            } catch (OpenException inUse) {
                // Others opened and closed the file all the time, for a second.
                return;
            }
            databases.incrementAndGet();
            if (shared.getAndSet(0, database) instanceof Database earlier) {
                replaced.add(earlier);
            }
            int at = 1;
            try {
                for (Object object : objects(database).values()) {
                    Object earlier = shared.getAndSet(at++, object);
                    if (earlier instanceof Database other && other != database) {
                        replaced.add(other);
                    }
                }
            } catch (RuntimeException thrown) {
                boolean isTooLate = thrown.getMessage().equals("another thread writes");
                if (!isTooLate) {
                    check(thrown, database, "objects");
                }
            }
        }

        private void use(Random random) {
            Object object = shared.get(random.nextInt(shared.length()));
            if (object instanceof ByteBuffer buffer) {
                check(read(buffer), buffer, "get");
            } else if (object instanceof Table table && random.nextInt(3) == 0) {
                keep(value(table, random), random);
            } else if (object != null) {
                List<Method> methods = methods(object);
                call(object, methods.get(random.nextInt(methods.size())), random);
            }
        }

        private void call(Object object, Method method, Random random) {
            String name = method.getName();
            boolean ends = name.equals("close") || name.equals("abort");
            boolean waits = object instanceof Database
                    && (name.startsWith("writ") || name.equals("compact")
                            || name.equals("beginWrite") && method.getParameterCount() == 0);
            if ((ends || waits) && random.nextInt(10) > 0) {
                return;
            }
            check(MisuseTest.call(object, method, random), object, name);
            this.calls.incrementAndGet();
            this.waits.addAndGet(waits ? 1 : 0);
        }

        /** A value in the mapped file, if Java has that; null for none. */
        private ByteBuffer value(Table table, Random random) {
            byte[] key = bytes(String.format("%04d", random.nextInt(1100)));
            try {
                if (random.nextBoolean()) {
                    return table.getBuffer(key);
                }
                Method get = random.nextBoolean() ? SEGMENT_OF_BYTES : SEGMENT_OF_SEGMENT;
                if (get == null) {
                    return null;
                }
                Object argument = get == SEGMENT_OF_BYTES ? key : OF_ARRAY.invoke(null, key);
                Object segment = get.invoke(null, table, argument);
                segments.incrementAndGet();
                return segment == null ? null : (ByteBuffer) AS_BUFFER.invoke(segment);
            } catch (InvocationTargetException thrown) {
                check(thrown.getCause(), table, "segment");
            } catch (IllegalAccessException impossible) {
                throw new AssertionError(impossible);
            } catch (RuntimeException thrown) {
                check(thrown, table, "getBuffer");
            }
            return null;
        }

        /** Reads a value, and lets other threads read it, at any time. */
        private void keep(ByteBuffer value, Random random) {
            if (value != null) {
                check(read(value), value, "get");
                shared.set(24 + random.nextInt(8), value);
            }
        }

        private static Throwable read(ByteBuffer value) {
            try {
                for (int i = 0; i < value.limit(); i++) {
                    value.get(i);
                }
                return null;
            } catch (RuntimeException thrown) {
                return thrown;
            }
        }

        private void check(Throwable thrown, Object object, String method) {
            if (thrown != null && !Misuse.isExpected(thrown, object, method)) {
                var text = new StringWriter();
                thrown.printStackTrace(new PrintWriter(text));
                wrong.add(object.getClass().getSimpleName() + "." + method + ": " + text);
            }
        }

        @Override
        public String toString() {
            return calls + " calls, " + waits + " of them waited for a writer, " + segments
                    + " segments, " + databases + " databases";
        }
    }

    private static final Method SEGMENT_OF_BYTES = segments(byte[].class.getName());
    private static final Method SEGMENT_OF_SEGMENT = segments("java.lang.foreign.MemorySegment");
    private static final Method OF_ARRAY = segment("ofArray", byte[].class);
    private static final Method AS_BUFFER = segment("asByteBuffer");

    /** The method of {@code Segments}, which Java has from version 22 on; null without it. */
    private static Method segments(String keyType) {
        try {
            Class<?> type = Class.forName("teak.Segments");
            return type.getMethod("get", Table.class, keyType.equals("[B") ? byte[].class : Class.forName(keyType));
        } catch (ClassNotFoundException | NoSuchMethodException olderJava) {
            return null;
        }
    }

    private static Method segment(String name, Class<?>... types) {
        try {
            return Class.forName("java.lang.foreign.MemorySegment").getMethod(name, types);
        } catch (ClassNotFoundException | NoSuchMethodException olderJava) {
            return null;
        }
    }
}
