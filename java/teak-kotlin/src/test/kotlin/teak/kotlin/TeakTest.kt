package teak.kotlin

import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import kotlin.coroutines.Continuation
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.startCoroutine
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import teak.Codecs
import teak.Database
import teak.Durability
import teak.Range

class TeakTest {
    @Test
    fun `tables have operators and sequences`() {
        Database.openInMemory().use { database ->
            database.update {
                val table = table("t")
                table["a".toByteArray()] = "1".toByteArray()
                table["b".toByteArray()] = "2".toByteArray()
            }
            database.view {
                val table = table("t").typed(Codecs.utf8(), Codecs.utf8())
                assertEquals("1", table["a"])
                assertNull(table["c"])
                assertTrue("b" in table)
                assertFalse("c" in table)
                val keys = table("t").sequence(Range.allBackward()).map { String(it.key) }
                assertEquals(listOf("b", "a"), keys.toList())
            }
        }
    }

    @Test
    fun `a commit can be awaited without blocking`() {
        Database.openInMemory().use { database ->
            val done = CompletableFuture<Boolean>()
            suspend {
                val txn = database.beginWrite()
                txn.table("t")["a".toByteArray()] = ByteArray(1)
                txn.commit(Durability.ASYNC).awaitDurable()
                true
            }.startCoroutine(
                Continuation(EmptyCoroutineContext) { result ->
                    result.fold(done::complete, done::completeExceptionally)
                },
            )
            assertTrue(done.get(10, TimeUnit.SECONDS))
        }
    }
}
