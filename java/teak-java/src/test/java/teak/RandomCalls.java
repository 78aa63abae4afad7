package teak;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/** Objects of all kinds, and calls of their methods with arguments of all kinds. */
final class RandomCalls {
    private RandomCalls() {}

    static byte[] bytes(String text) {
        return text.getBytes();
    }

    /** A write transaction; waits for the one of another thread for a while only. */
    static WriteTxn writer(Database database) {
        WriteTxn txn = database.beginWrite(Duration.ofMillis(100));
        if (txn == null) {
            throw new IllegalStateException("another thread writes");
        }
        return txn;
    }

    /** Objects of all kinds, open, on records. */
    static Map<String, Object> objects(Database database) {
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

    static Object argument(Class<?> type, Random random) {
        if (type == byte[].class) {
            // A key of 5,000 bytes is too long.
            return random.nextInt(50) == 0
                    ? new byte[5000]
                    : bytes(String.format("%04d", random.nextInt(1100)));
        } else if (type == Object.class) {
            return bytes("0001");
        } else if (type == String.class) {
            return random.nextInt(3) == 0 ? "none" : "t";
        } else if (type == Range.class) {
            return random.nextBoolean() ? Range.all() : Range.atMostBackward(bytes("0500"));
        } else if (type == Duration.class) {
            return random.nextInt(4) == 0 ? Duration.ofSeconds(Long.MIN_VALUE) : Duration.ZERO;
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
            return random.nextInt(6) == 0 ? random.nextLong() | Long.MIN_VALUE : random.nextInt(5);
        } else if (type == int.class) {
            return random.nextInt(5) - 1;
        }
        return null;
    }

    static List<Method> methods(Object object) {
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
    static Throwable call(Object object, Method method, Random random) {
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
    static void use(Object result) throws InvocationTargetException {
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
}
