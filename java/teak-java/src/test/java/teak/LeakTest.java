package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

class LeakTest {
    @Test
    void a_transaction_that_is_lost_is_logged_and_ended() throws Exception {
        List<String> messages = new CopyOnWriteArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                messages.add(record.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger logger = Logger.getLogger("teak");
        logger.addHandler(handler);
        logger.setUseParentHandlers(false);
        try (Database database = Database.openInMemory()) {
            lose(database);
            for (int i = 0; i < 500 && database.stat().readers() > 0; i++) {
                System.gc();
                Thread.sleep(10);
            }
            assertEquals(0, database.stat().readers());
            assertTrue(messages.stream().anyMatch(message -> message.contains("(in memory)")
                    && message.contains("was not closed")), messages::toString);
        } finally {
            logger.removeHandler(handler);
        }
    }

    private static void lose(Database database) {
        assertEquals(List.of(), database.beginRead().tables());
        assertEquals(1, database.stat().readers());
    }
}
