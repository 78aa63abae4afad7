//! Instants, dates and times of day, which sort from the earliest to the latest.

use super::Ordered;

/// Seconds, in the order of numbers, and then nanoseconds.
fn join(seconds: i64, nanoseconds: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&seconds.to_ordered().to_be_bytes());
    bytes[8..].copy_from_slice(&nanoseconds.to_be_bytes());
    bytes
}

/// The seconds and nanoseconds of [`join`].
fn split([a, b, c, d, e, f, g, h, nanoseconds @ ..]: [u8; 12]) -> (i64, u32) {
    let seconds = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    (i64::from_ordered(seconds), u32::from_be_bytes(nanoseconds))
}

#[cfg(feature = "jiff")]
mod of_jiff {
    use super::{join, split};
    use crate::api::codec::{Ordered, undecodable};
    use jiff::{
        Timestamp,
        civil::{Date, DateTime, Time},
    };

    const SECOND: i128 = 1_000_000_000;

    fixed_codec!(
        Timestamp: Timestamp as [u8; 12], Bytes, "jiff-timestamp",
        |instant| {
            let nanoseconds = instant.as_nanosecond();
            Ok(join(nanoseconds.div_euclid(SECOND) as i64, nanoseconds.rem_euclid(SECOND) as u32))
        },
        |bytes| {
            let (seconds, nanoseconds) = split(bytes);
            if i128::from(nanoseconds) >= SECOND {
                return Err(undecodable::<Timestamp>("it has too many nanoseconds"));
            }
            let nanoseconds = i128::from(seconds) * SECOND + i128::from(nanoseconds);
            Timestamp::from_nanosecond(nanoseconds).map_err(undecodable::<Timestamp>)
        }
    );
    fixed_codec!(
        Date: Date as [u8; 4], Bytes, "jiff-date",
        |date| {
            let [a, b] = date.year().to_ordered().to_be_bytes();
            Ok([a, b, date.month() as u8, date.day() as u8])
        },
        |bytes| {
            let [a, b, month, day] = bytes;
            let year = i16::from_ordered(u16::from_be_bytes([a, b]));
            Date::new(year, month as i8, day as i8).map_err(undecodable::<Date>)
        }
    );
    fixed_codec!(
        Time: Time as [u8; 7], Bytes, "jiff-time",
        |time| {
            let [a, b, c, d] = time.subsec_nanosecond().to_be_bytes();
            Ok([time.hour() as u8, time.minute() as u8, time.second() as u8, a, b, c, d])
        },
        |bytes| {
            let [hour, minute, second, nanoseconds @ ..] = bytes;
            let nanoseconds = i32::from_be_bytes(nanoseconds);
            Time::new(hour as i8, minute as i8, second as i8, nanoseconds)
                .map_err(undecodable::<Time>)
        }
    );
    fixed_codec!(
        DateTime: DateTime as [u8; 11], Bytes, "jiff-datetime",
        |instant| {
            let mut bytes = [0; 11];
            bytes[..4].copy_from_slice(instant.date().encode_as()?.as_ref());
            bytes[4..].copy_from_slice(instant.time().encode_as()?.as_ref());
            Ok(bytes)
        },
        |bytes| <(Date, Time)>::decode(&bytes).map(|(date, time)| date.to_datetime(time))
    );
}

#[cfg(feature = "chrono")]
mod of_chrono {
    use super::{join, split};
    use crate::{
        Error, Result,
        api::codec::{Codec, Ordered, undecodable},
    };
    use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Utc};

    const IMPOSSIBLE: &str = "there is no such date or time";

    /// Refuses the nanosecond of a leap second at another second than the last one of a minute:
    /// `chrono` makes such a time, and does not restore it.
    fn refuse_leap<C: Codec>(second: u32, nanosecond: u32) -> Result<()> {
        if nanosecond < 1_000_000_000 || second == 59 {
            return Ok(());
        }
        Err(Error::Encode {
            expected: C::name(),
            detail: format!(
                "second {second} is not a leap second, and has {nanosecond} nanoseconds"
            ),
        })
    }

    fixed_codec!(
        DateTime<Utc>: DateTime<Utc> as [u8; 12], Bytes, "chrono-datetime",
        |instant| {
            refuse_leap::<DateTime<Utc>>(instant.second(), instant.nanosecond())?;
            Ok(join(instant.timestamp(), instant.timestamp_subsec_nanos()))
        },
        |bytes| {
            let (seconds, nanoseconds) = split(bytes);
            let instant = DateTime::from_timestamp(seconds, nanoseconds);
            instant.ok_or_else(|| undecodable::<DateTime<Utc>>(IMPOSSIBLE))
        }
    );
    fixed_codec!(
        NaiveDateTime: NaiveDateTime as [u8; 12], Bytes, "chrono-naive-datetime",
        |instant| {
            refuse_leap::<NaiveDateTime>(instant.second(), instant.nanosecond())?;
            let instant = instant.and_utc();
            Ok(join(instant.timestamp(), instant.timestamp_subsec_nanos()))
        },
        |bytes| {
            let (seconds, nanoseconds) = split(bytes);
            let instant = DateTime::from_timestamp(seconds, nanoseconds);
            let impossible = || undecodable::<NaiveDateTime>(IMPOSSIBLE);
            instant.map(|instant| instant.naive_utc()).ok_or_else(impossible)
        }
    );
    fixed_codec!(
        NaiveDate: NaiveDate as [u8; 4], Bytes, "chrono-naive-date",
        |date| Ok(date.num_days_from_ce().to_ordered().to_be_bytes()),
        |bytes| {
            let days = i32::from_ordered(u32::from_be_bytes(bytes));
            let date = NaiveDate::from_num_days_from_ce_opt(days);
            date.ok_or_else(|| undecodable::<NaiveDate>(IMPOSSIBLE))
        }
    );
    fixed_codec!(
        NaiveTime: NaiveTime as [u8; 8], Bytes, "chrono-naive-time",
        |time| {
            refuse_leap::<NaiveTime>(time.second(), time.nanosecond())?;
            let (seconds, nanoseconds) = (time.num_seconds_from_midnight(), time.nanosecond());
            Ok((u64::from(seconds) << 32 | u64::from(nanoseconds)).to_be_bytes())
        },
        |bytes| {
            let number = u64::from_be_bytes(bytes);
            let (seconds, nanoseconds) = ((number >> 32) as u32, number as u32);
            let time = NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanoseconds);
            time.ok_or_else(|| undecodable::<NaiveTime>(IMPOSSIBLE))
        }
    );
}
