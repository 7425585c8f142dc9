//! Intervals, exact tests, trends, truncation and bisection under noise.
//!
//! In: plain numbers. Out: estimates with their interval and number of observations. Everything may
//! use this folder; it knows none of the product's words but [`Estimate`] and only computes.

mod anytime;
pub(crate) mod binomial;
mod estimate;
mod interval;
mod log_ratio;
mod mser;
pub mod normal;
mod quantile;
mod rate_posterior;
mod slope;

pub use anytime::{Alike, AnytimeMean, Before};
pub use estimate::Estimate;
pub use interval::{PriorSpread, mean_sd_log, shrunk_interval, t_quantile};
pub use log_ratio::{Beside, LogRatio, log_ratio_interval, more_to_decide, weighed_mean};
pub use mser::{Cut, mser5};
pub use quantile::{median, quantile};
pub use rate_posterior::{Powers, RatePosterior};
pub use slope::{common_slope, slope};
