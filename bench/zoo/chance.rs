//! Chance from a seed: the few distributions that the zoo's servers and their requests follow.

use std::f64::consts::TAU;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Chance(Xoshiro256PlusPlus);

/// How far what requests take lies apart; its mean is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    Constant,
    Exponential,
    /// By its squared coefficient of variation.
    Lognormal {
        cv2: f64,
    },
    /// Power law, P(X > x) = (least / x)^exponent; its squared coefficient of variation is
    /// 1 / (exponent (exponent - 2)).
    Pareto {
        exponent: f64,
    },
}

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Above 0 and below 1.
    pub fn share(&mut self) -> f64 {
        self.0.random_range(1e-12..1.0)
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Evenly on a scale of logarithms.
    pub fn by_ratio(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.share())
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.0.random_range(0..all.len())]
    }

    pub fn index(&mut self, count: usize) -> usize {
        self.0.random_range(0..count)
    }

    pub fn is(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.share() < probability
    }

    /// Mean one.
    pub fn exponential(&mut self) -> f64 {
        -self.share().ln()
    }

    /// Standard normal, by Box and Muller (1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (TAU * self.share()).cos()
    }
}

impl Spread {
    /// Few requests make up much of the work.
    pub fn has_tail(self) -> bool {
        match self {
            Self::Constant | Self::Exponential => false,
            Self::Lognormal { cv2 } => cv2 > 2.0,
            Self::Pareto { .. } => true,
        }
    }

    pub fn draw(self, chance: &mut Chance) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Exponential => chance.exponential(),
            Self::Lognormal { cv2 } => {
                let variance = cv2.ln_1p();
                (variance.sqrt() * chance.normal() - 0.5 * variance).exp()
            }
            Self::Pareto { exponent } => {
                (exponent - 1.0) / exponent * chance.share().powf(-1.0 / exponent)
            }
        }
    }
}

/// A power law of this squared coefficient of variation, which is above zero: exponent
/// 1 + sqrt(1 + 1 / cv2), from its definition.
pub fn pareto(cv2: f64) -> Spread {
    Spread::Pareto { exponent: 1.0 + (1.0 + 1.0 / cv2).sqrt() }
}
