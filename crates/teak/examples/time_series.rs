//! Measurements of several sensors, with hourly means and a retention period.
//!
//! ```text
//! cargo run --example time_series -- [DATABASE]
//! ```
//!
//! The key is the pair of sensor and time, so the measurements of a sensor are one range in the
//! order of time. Expired ones are removed as one range for each sensor, which releases whole pages
//! without reading the records, and the file shrinks.

use std::{env, error::Error, fs};
use teak::{Database, Durability, Result, Table, Transaction, WriteTxn};

const SENSORS: [u32; 3] = [7, 12, 90];
/// Seconds between two measurements.
const INTERVAL: u64 = 10;
const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;
const RETENTION: u64 = 2 * DAY;

/// The tables of measurements. Times are seconds.
struct Series {
    measurements: Table<(u32, u64), f64>,
    /// The number of measurements and their sum, for each sensor and hour.
    hours: Table<(u32, u64), (u64, f64)>,
}

impl Series {
    fn create(txn: &mut WriteTxn) -> Result<Self> {
        Ok(Self {
            measurements: txn.create_table("measurements")?,
            hours: txn.create_table("hours")?,
        })
    }

    fn record(&self, txn: &mut WriteTxn, sensor: u32, time: u64, value: f64) -> Result<()> {
        self.measurements.insert(txn, (sensor, time), value)?;
        let hour = (sensor, time / HOUR * HOUR);
        let (count, sum) = self.hours.get(txn, hour)?.unwrap_or((0, 0.0));
        self.hours.insert(txn, hour, (count + 1, sum + value))
    }

    /// Removes measurements that are older than the retention period. Hours are kept.
    fn expire(&self, txn: &mut WriteTxn, now: u64) -> Result<u64> {
        let end = now.saturating_sub(RETENTION);
        let mut count = 0;
        for sensor in SENSORS {
            let expired = self.measurements.range((sensor, 0)..(sensor, end));
            count += expired.remove(txn)?;
        }
        Ok(count)
    }

    /// The newest measurement of a sensor.
    fn newest<T: Transaction>(&self, txn: &T, sensor: u32) -> Result<Option<(u64, f64)>> {
        let all = self.measurements.range((sensor, 0)..=(sensor, u64::MAX));
        let newest = all.rev(txn)?.next().transpose()?;
        Ok(newest.map(|((_, time), value)| (time, value)))
    }

    /// The means of the hours from one time to another.
    fn means<T: Transaction>(&self, txn: &T, sensor: u32, from: u64, to: u64) -> Result<Vec<f64>> {
        let hours = self.hours.range((sensor, from)..(sensor, to));
        let means = hours.values(txn)?;
        means
            .map(|hour| hour.map(|(count, sum)| sum / count as f64))
            .collect()
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1);
    let path = path.unwrap_or_else(|| "time-series.teak".into());
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let series = Series::create(&mut txn)?;
    txn.commit()?;

    let end = 4 * DAY;
    let mut expired = 0;
    for hour in (0..end).step_by(HOUR as usize) {
        let mut txn = database.begin_write()?;
        // A power cut may take the newest hours, but never a part of one.
        txn.set_durability(Durability::Lazy);
        for time in (hour..hour + HOUR).step_by(INTERVAL as usize) {
            for sensor in SENSORS {
                let value = 20.0 + f64::from(sensor) + (time as f64 / DAY as f64).sin();
                series.record(&mut txn, sensor, time, value)?;
            }
        }
        expired += series.expire(&mut txn, hour + HOUR)?;
        txn.commit()?;
    }
    database.sync()?; // all commits are durable now

    let txn = database.begin_read()?;
    let kept = series.measurements.len(&txn)?;
    println!("{kept} measurements are kept, {expired} were removed");
    println!("the newest of sensor 12: {:?}", series.newest(&txn, 12)?);
    let means = series.means(&txn, 12, 0, end)?;
    println!(
        "{} hourly means of sensor 12, the first: {:.3}",
        means.len(),
        means[0]
    );
    println!("{} KB in the file", fs::metadata(&path)?.len() / 1000);
    assert_eq!(kept, SENSORS.len() as u64 * RETENTION / INTERVAL);
    assert_eq!(means.len() as u64, end / HOUR);
    Ok(())
}
