package teak;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;

/** Threads that call anything on the same objects, while these are closed and replaced. */
final class Crowd {
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
            for (Object object : RandomCalls.objects(database).values()) {
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
            List<Method> methods = RandomCalls.methods(object);
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
        check(RandomCalls.call(object, method, random), object, name);
        this.calls.incrementAndGet();
        this.waits.addAndGet(waits ? 1 : 0);
    }

    /** A value in the mapped file, if Java has that; null for none. */
    private ByteBuffer value(Table table, Random random) {
        byte[] key = RandomCalls.bytes(String.format("%04d", random.nextInt(1100)));
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
