/*
 * Tables need no operators here: `table[key]`, `table[key] = value` and `key in table` are methods of
 * Java.
 */
@file:JvmName("TeakKotlin")

package teak.kotlin

import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlin.coroutines.suspendCoroutine
import teak.Database
import teak.Entry
import teak.Range
import teak.ReadTxn
import teak.Table
import teak.Ticket
import teak.WriteTxn

/** Reads in a transaction that ends afterwards. */
inline fun <R> Database.view(block: ReadTxn.() -> R): R = beginRead().use { it.block() }

/** Writes in a transaction, and commits it unless an exception is thrown or it has ended. */
inline fun <R> Database.update(block: WriteTxn.() -> R): R =
    beginWrite().use { txn ->
        val result = txn.block()
        if (txn.isOpen) txn.commit()
        result
    }

/** The records of a range, to be used while the transaction is open. */
fun Table.sequence(range: Range = Range.all()): Sequence<Entry> = Sequence { scan(range).iterator() }

/** Suspends until the commit is on the disk. */
suspend fun Ticket.awaitDurable(): Unit = suspendCoroutine { continuation ->
    asStage().whenComplete { _, failure ->
        if (failure == null) continuation.resume(Unit) else continuation.resumeWithException(failure)
    }
}
