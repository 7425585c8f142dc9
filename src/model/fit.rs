//! Fitting what a request costs to what was measured.
//!
//! Five numbers are fitted, in logarithms: CPU, wait, hand-over, contention and crowding. Each has
//! a prior (tight where it was measured from outside the process), so that one observation is
//! enough and a hundred are not in the way. The rest of a [`Demand`] is read off directly.

use super::least_squares::solve;
use super::measured::{CPU_SD, Cpu, Figure};
use super::observe::Observation;
use super::{Demand, closed_throughput};
use crate::stats::{Estimate, normal};
use crate::terms::{Configuration, FittedDemand, FittedFigure};

/// An error of this size is always allowed for in a configuration that was not measured.
const MISFIT_SD: f64 = 0.05;
/// A worker's CPU beyond one core by less than this is the master's and the kernel's.
const FREE_CPU_FROM: f64 = 1.05;

/// The least squares are looked for from the prior, and from here too: a database that gets no more
/// done with ten requests at once than with three. From the prior, at which crowding makes no
/// difference to anything, there is no slope that leads there.
const CROWDED: f64 = 0.03;
/// Where it begins, and how much that says, of the logarithm: a hundred requests at once wait a
/// thousandth longer, and what is far from it takes plain evidence. Judgement.
const CROWDING_PRIOR: (f64, f64) = (1e-7, 4.0);

/// What contention is of a server whose throughputs tell: as good as unknown.
const CONTENTION: Prior = Prior { mean: 0.3, sd: 0.7 };

/// What Puma 6 waits in a cluster before a busy worker takes another request
/// (`wait_for_less_busy_worker`), seconds. It is tried where nothing else explains what was
/// measured, as settings of the app's may have changed it.
const ACCEPT_GAP_S: f64 = 0.005;
/// By so much it has to be closer, in squared standard deviations. Judgement.
const GAP_EVIDENCE: f64 = 4.0;

const PARAMETERS: usize = 5;
type Vector = [f64; PARAMETERS];
type Matrix = [Vector; PARAMETERS];

/// The fitted demand, and how sure it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub demand: Demand,
    /// Measured over predicted saturated throughput, by configuration, in the order given.
    pub residuals: Vec<(Configuration, f64)>,
    /// Root mean square of the residuals' logarithms (0.05: about 5 %); 0 when there was none.
    pub misfit: f64,
    /// Covariance of the logarithms of cpu, wait, hand-over, contention and crowding.
    covariance: Matrix,
}

impl Fit {
    /// Fits `observations`, made on `cores` cores. `None` when none of them has a throughput or
    /// an unloaded latency.
    ///
    /// Maximum a posteriori by Levenberg and Marquardt's method: the least sum of squares of
    /// `ln(predicted / measured) / sd` over all throughputs and unloaded latencies, and of
    /// `ln(value / prior) / sd` over the five numbers.
    pub fn to(observations: &[Observation], cores: f64) -> Option<Self> {
        Self::with_contention(observations, cores, CONTENTION)
    }

    /// As [`Fit::to`], where more is known of the contention before: where no throughput tells,
    /// this is what it is.
    pub fn with_contention(
        observations: &[Observation],
        cores: f64,
        contention: Prior,
    ) -> Option<Self> {
        let problem = Problem::new(observations, cores, contention)?;
        let prior = problem.prior.map(|prior| prior.mean);
        let plain = problem.least_squares(prior);
        let is_explained = problem.cost(&plain) < problem.throughputs.len() as f64;
        if is_explained {
            return Some(problem.conclude(&plain));
        }
        let mut crowded = plain;
        crowded[4] = CROWDED.ln();
        let crowded = problem.least_squares(crowded);
        let is_closer = problem.cost(&crowded) < problem.cost(&plain);
        let best = if is_closer { crowded } else { plain };
        let gapped = problem.with_accept_gap();
        let other = gapped.least_squares(prior);
        let has_gap = gapped.cost(&other) + GAP_EVIDENCE < problem.cost(&best);
        Some(if has_gap { gapped.conclude(&other) } else { problem.conclude(&best) })
    }

    /// A prediction with its interval at `level` (0.9): any figure above zero that follows from a
    /// demand, such as `|demand| closed_throughput(demand, configuration, cores)`.
    ///
    /// The figure's logarithm is taken as linear in those of the fitted numbers (delta method); the
    /// misfit of the measured configurations, at least 5 %, is added, and so is `extra_sd`, the
    /// standard deviation of whatever else makes it unsure (of the logarithm). `None` when the
    /// figure is 0.
    pub fn predict(
        &self,
        level: f64,
        extra_sd: f64,
        figure: impl Fn(&Demand) -> f64,
    ) -> Option<Estimate> {
        let value = figure(&self.demand);
        if !value.is_finite() || value <= 0.0 {
            return None;
        }
        const NUDGE: f64 = 0.02;
        let slopes: Vector = std::array::from_fn(|i| {
            let nudged = |by: f64| figure(&nudge(&self.demand, i, by)).max(1e-3 * value).ln();
            (nudged(NUDGE) - nudged(-NUDGE)) / (2.0 * NUDGE)
        });
        let mut variance = self.misfit.max(MISFIT_SD).powi(2) + extra_sd.powi(2);
        for (i, row) in self.covariance.iter().enumerate() {
            for (j, covariance) in row.iter().enumerate() {
                variance += slopes[i] * slopes[j] * covariance;
            }
        }
        let half = normal::quantile(0.5 + 0.5 * level) * variance.max(0.0).sqrt();
        let count = self.residuals.len() as u64;
        Some(Estimate { value, low: value * (-half).exp(), high: value * half.exp(), count })
    }

    /// The fitted numbers with their intervals at `level`; those of numbers that were read off
    /// directly are as wide as their source's.
    pub fn parts(&self, level: f64) -> FittedDemand {
        let half = |parameter: usize| {
            let sd = self.covariance[parameter][parameter].max(0.0).sqrt();
            normal::quantile(0.5 + 0.5 * level) * sd
        };
        let figure = |value: f64, parameter: usize| FittedFigure {
            value,
            interval: [value * (-half(parameter)).exp(), value * half(parameter).exp()],
        };
        let demand = &self.demand;
        FittedDemand {
            cpu_s: figure(demand.cpu_s, 0),
            cpu_free_s: figure(demand.cpu_free_s, 0),
            wait_s: figure(demand.wait_s, 1),
            handoff_s: figure(demand.handoff_s, 2),
            contention: figure(demand.contention, 3),
            crowding: figure(demand.crowding, 4),
            switching: demand.switching,
            accept_gap_s: demand.accept_gap_s,
            generator_s: demand.generator_s,
            cv2: demand.cv2,
        }
    }
}

/// What is believed of a number before it is fitted: mean and standard deviation of its logarithm.
#[derive(Debug, Clone, Copy)]
pub struct Prior {
    pub mean: f64,
    pub sd: f64,
}

#[derive(Clone)]
struct Problem {
    /// Of ln cpu (all of the server's), ln wait, ln hand-over, ln contention, ln crowding.
    prior: [Prior; PARAMETERS],
    /// Share of the CPU that is outside the lock.
    free_share: f64,
    /// What is read off directly: how requests differ, what threads cost, the generator.
    known: Demand,
    latencies: Vec<Figure>,
    throughputs: Vec<(Configuration, Figure)>,
    cores: f64,
}

impl Problem {
    fn new(observations: &[Observation], cores: f64, contention: Prior) -> Option<Self> {
        let all = |of: fn(&Observation) -> Option<f64>| -> Vec<f64> {
            observations.iter().filter_map(of).filter(|v| v.is_finite() && *v > 0.0).collect()
        };
        let alone = observations.iter().find_map(|o| Some((o.unloaded_sizes?, o.unloaded_replies)));
        let cv2 = alone.map_or(Demand::default().cv2, |(sizes, replies)| {
            replies.map_or(sizes.cv2(), |replies| sizes.cv2_of(replies))
        });
        let latency = |o: &Observation| Figure::of(o.unloaded_latency_s?, o.unloaded_replies, cv2);
        let throughput = |o: &Observation| {
            Some((o.configuration, Figure::of(o.saturated_rps?, o.saturated_replies, cv2)?))
        };
        let latencies: Vec<Figure> = observations.iter().filter_map(latency).collect();
        let throughputs: Vec<(Configuration, Figure)> =
            observations.iter().filter_map(throughput).collect();
        let cpu = Cpu::of(observations);
        // Without a latency: the time a request holds its thread, from the fullest throughput.
        let held = throughputs
            .iter()
            .map(|(configuration, rate)| f64::from(configuration.slots()) / rate.value)
            .reduce(f64::min);
        let latency_s = geometric_mean(&all(|o| o.unloaded_latency_s)).or(held)?;
        let cpu_prior = match cpu {
            Some(cpu) => Prior { mean: cpu.alone_log, sd: CPU_SD },
            None => Prior { mean: (0.5 * latency_s).ln(), sd: 1.0 },
        };
        let cpu_s = cpu_prior.mean.exp();
        let wait_s = (latency_s - cpu_s).max(0.02 * latency_s);
        let busiest = all(|o| o.worker_busy_cores).into_iter().fold(1.0, f64::max);
        let free_share = if busiest > FREE_CPU_FROM { 1.0 - 1.0 / busiest } else { 0.0 };
        let prior = [
            cpu_prior,
            Prior { mean: wait_s.ln(), sd: 2.0 },
            Prior { mean: (0.03 * cpu_s).ln(), sd: 1.0 },
            contention,
            Prior { mean: CROWDING_PRIOR.0.ln(), sd: CROWDING_PRIOR.1 },
        ];
        Some(Self {
            prior,
            free_share,
            known: Demand {
                cv2,
                sizes: alone.map(|(sizes, _)| sizes),
                switching: cpu.map_or(0.0, |cpu| cpu.switching),
                generator_s: mean(&all(|o| o.generator_s)).unwrap_or(0.0),
                ..Demand::default()
            },
            latencies,
            throughputs,
            cores,
        })
    }

    /// The same of a server whose busy workers take requests in one after the other.
    fn with_accept_gap(&self) -> Self {
        Self { known: Demand { accept_gap_s: ACCEPT_GAP_S, ..self.known }, ..self.clone() }
    }

    fn demand(&self, at: &Vector) -> Demand {
        let cpu_s = at[0].exp();
        Demand {
            cpu_s: cpu_s * (1.0 - self.free_share),
            cpu_free_s: cpu_s * self.free_share,
            wait_s: at[1].exp(),
            handoff_s: at[2].exp(),
            contention: at[3].exp(),
            crowding: at[4].exp(),
            ..self.known
        }
    }

    fn residuals(&self, at: &Vector) -> Vec<f64> {
        let demand = self.demand(at);
        let mut residuals: Vec<f64> =
            at.iter().zip(&self.prior).map(|(x, prior)| (x - prior.mean) / prior.sd).collect();
        let unloaded_s = demand.unloaded_latency_s();
        residuals.extend(self.latencies.iter().map(|measured| measured.residual(unloaded_s)));
        residuals.extend(self.throughputs.iter().map(|&(configuration, measured)| {
            measured.residual(closed_throughput(&demand, configuration, self.cores))
        }));
        residuals
    }

    /// Levenberg and Marquardt's method from `at`.
    fn least_squares(&self, mut at: Vector) -> Vector {
        let mut damping = 1e-3;
        for _ in 0..60 {
            let (normal, gradient) = self.normal_equations(&at);
            let Some(step) = damped_step(&normal, &gradient, damping) else { break };
            let next: Vector = std::array::from_fn(|i| at[i] + step[i].clamp(-1.0, 1.0));
            if self.cost(&next) < self.cost(&at) {
                at = next;
                damping = (damping * 0.3).max(1e-9);
                if step.iter().all(|s| s.abs() < 1e-6) {
                    break;
                }
            } else {
                damping *= 10.0;
                if damping > 1e9 {
                    break;
                }
            }
        }
        at
    }

    fn cost(&self, at: &Vector) -> f64 {
        self.residuals(at).iter().map(|r| r * r).sum()
    }

    /// J'J and J'r, with the Jacobian J taken numerically.
    fn normal_equations(&self, at: &Vector) -> (Matrix, Vector) {
        const NUDGE: f64 = 1e-4;
        let here = self.residuals(at);
        let columns: [Vec<f64>; PARAMETERS] = std::array::from_fn(|i| {
            let mut nudged = *at;
            nudged[i] += NUDGE;
            let there = self.residuals(&nudged);
            there.iter().zip(&here).map(|(a, b)| (a - b) / NUDGE).collect()
        });
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let normal =
            std::array::from_fn(|i| std::array::from_fn(|j| dot(&columns[i], &columns[j])));
        (normal, std::array::from_fn(|i| dot(&columns[i], &here)))
    }

    fn conclude(&self, at: &Vector) -> Fit {
        let demand = self.demand(at);
        let residuals: Vec<(Configuration, f64)> = self
            .throughputs
            .iter()
            .map(|&(configuration, measured)| {
                let predicted = closed_throughput(&demand, configuration, self.cores);
                (configuration, measured.value / predicted)
            })
            .collect();
        let squares: f64 = residuals.iter().map(|(_, ratio)| ratio.ln().powi(2)).sum();
        let misfit = (squares / residuals.len().max(1) as f64).sqrt();
        let (normal, _) = self.normal_equations(at);
        // The priors make the matrix positive definite, so every column can be solved for.
        let column = |i: usize| {
            let mut unit = [0.0; PARAMETERS];
            unit[i] = 1.0;
            solve(normal, unit).unwrap_or([0.0; PARAMETERS])
        };
        Fit { demand, residuals, misfit, covariance: std::array::from_fn(column) }
    }
}

/// The demand with one of the fitted numbers changed by the factor e^by.
fn nudge(demand: &Demand, parameter: usize, by: f64) -> Demand {
    let factor = |of: usize| if of == parameter { by.exp() } else { 1.0 };
    Demand {
        cpu_s: demand.cpu_s * factor(0),
        cpu_free_s: demand.cpu_free_s * factor(0),
        wait_s: demand.wait_s * factor(1),
        handoff_s: demand.handoff_s * factor(2),
        contention: demand.contention * factor(3),
        crowding: demand.crowding * factor(4),
        ..*demand
    }
}

/// Solves (A + damping diag A) x = -b; `None` when it is singular.
fn damped_step(a: &Matrix, b: &Vector, damping: f64) -> Option<Vector> {
    let mut damped = *a;
    for (i, row) in damped.iter_mut().enumerate() {
        row[i] *= 1.0 + damping;
    }
    solve(damped, b.map(|value| -value))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

pub(super) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logs).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::simulator::{RequestKind, Server, Simulator};
    use crate::terms::Offered;
    use std::time::Duration;

    fn fit(observations: &[Observation], cores: f64) -> Option<Demand> {
        Fit::to(observations, cores).map(|fit| fit.demand)
    }

    fn at(workers: u16, threads: u16) -> Configuration {
        Configuration::new(workers, threads).unwrap()
    }

    fn unloaded(demand: &Demand) -> Observation {
        Observation {
            unloaded_latency_s: Some(demand.unloaded_latency_s()),
            cpu_per_request_s: Some(demand.server_cpu_s()),
            ..Observation::of(at(1, 1))
        }
    }

    fn saturated(demand: &Demand, configuration: Configuration, cores: f64) -> Observation {
        Observation {
            saturated_rps: Some(closed_throughput(demand, configuration, cores)),
            cpu_per_request_s: Some(demand.server_cpu_s()),
            ..Observation::of(configuration)
        }
    }

    #[test]
    fn what_made_the_observations_is_found_again() {
        let truth = Demand {
            cpu_s: 0.004,
            wait_s: 0.012,
            handoff_s: 0.0004,
            contention: 2.0,
            ..Demand::default()
        };
        let mut observations = vec![unloaded(&truth)];
        for (workers, threads) in [(1, 1), (1, 2), (1, 5), (1, 16), (2, 5)] {
            observations.push(saturated(&truth, at(workers, threads), 2.0));
        }
        let fit = Fit::to(&observations, 2.0).unwrap();
        assert!((fit.demand.cpu_s / 0.004 - 1.0).abs() < 0.02, "{fit:?}");
        assert!((fit.demand.wait_s / 0.012 - 1.0).abs() < 0.03);
        assert!(fit.misfit < 0.02 && fit.demand.crowding < 1e-4, "{fit:?}");
        for (workers, threads) in [(2, 2), (4, 1), (1, 8), (4, 16)] {
            let predicted = closed_throughput(&fit.demand, at(workers, threads), 2.0);
            let true_rate = closed_throughput(&truth, at(workers, threads), 2.0);
            assert!((predicted / true_rate - 1.0).abs() < 0.03, "{workers} x {threads}");
        }
    }

    #[test]
    fn requests_that_crowd_each_other_are_told_from_those_that_queue_for_the_lock() {
        let truth = Demand { cpu_s: 0.004, wait_s: 0.03, crowding: 0.05, ..Demand::default() };
        let mut observations = vec![unloaded(&truth)];
        for (workers, threads) in [(1, 8), (4, 4)] {
            observations.push(saturated(&truth, at(workers, threads), 4.0));
        }
        let fit = Fit::to(&observations, 4.0).unwrap();
        assert!((fit.demand.crowding / 0.05 - 1.0).abs() < 0.1, "{fit:?}");
        let rate = |threads| closed_throughput(&fit.demand, at(1, threads), 4.0);
        assert!(rate(4) > 1.2 * rate(1) && rate(4) > 1.2 * rate(16), "{fit:?}");
    }

    #[test]
    fn workers_of_puma_6_that_take_requests_one_by_one_are_known_by_what_threads_bring() {
        // Measured requests/s of Puma 6.6.0 on two cores, by the cells that the bench fits to.
        let measured =
            [(1, 1, 262.0), (1, 8, 623.0), (2, 3, 502.5), (4, 1, 871.7)].map(|(w, t, rate)| {
                let cpu_per_request_s = Some(0.001_5);
                let generator_s = Some(0.000_1);
                let saturated_rps = Some(rate);
                let of = Observation::of(at(w, t));
                Observation { saturated_rps, cpu_per_request_s, generator_s, ..of }
            });
        let alone = Observation { unloaded_latency_s: Some(0.0038), ..Observation::of(at(1, 1)) };
        let observations: Vec<Observation> = measured.into_iter().chain([alone]).collect();
        let fit = Fit::to(&observations, 2.0).unwrap();
        assert_eq!(fit.demand.accept_gap_s, ACCEPT_GAP_S, "{fit:?}");
        let others = [(1, 3, 626.3), (2, 1, 497.7), (2, 8, 497.5), (3, 3, 775.5), (3, 8, 747.3)];
        let errors = others.map(|(workers, threads, measured)| {
            let predicted = closed_throughput(&fit.demand, at(workers, threads), 2.0);
            (predicted / measured - 1.0).abs()
        });
        assert!(errors.iter().sum::<f64>() / 5.0 < 0.08, "{errors:?}");
    }

    #[test]
    fn pumas_measured_throughputs_are_met_from_three_of_four() {
        // One worker of Puma 5.6.5, requests/s by threads.
        let measured = [(1, 159.0), (2, 291.0), (16, 830.0)];
        let mut observations: Vec<Observation> = measured
            .iter()
            .map(|&(threads, rate)| Observation {
                saturated_rps: Some(rate),
                ..Observation::of(at(1, threads))
            })
            .collect();
        observations.push(Observation {
            cpu_per_request_s: Some(0.001_05),
            unloaded_latency_s: Some(0.0062),
            ..Observation::of(at(1, 1))
        });
        let fit = Fit::to(&observations, 2.0).unwrap();
        let five = closed_throughput(&fit.demand, at(1, 5), 2.0);
        assert!((five / 558.0 - 1.0).abs() < 0.06, "{five} against 558: {fit:?}");
    }

    /// Throughput that the simulator gets out of a configuration.
    fn simulated(kind: RequestKind, configuration: Configuration, cores: f64) -> f64 {
        let (workers, threads) = (configuration.workers.get(), configuration.threads.get());
        let mut simulator = Simulator::new(Server::new(workers, threads, cores), vec![kind], 3);
        let clients = 2 * configuration.slots();
        simulator.begin(Offered::Closed { clients, think: Duration::ZERO }, 4);
        simulator.run_until(2.0, &mut |_| {});
        let mut replies = 0;
        simulator.run_until(42.0, &mut |_| replies += 1);
        f64::from(replies) / 40.0
    }

    #[test]
    fn two_calibration_cells_tell_the_rest_of_the_grid() {
        for (cpu_s, wait_s, waits, cv2, handoff_s) in [
            (0.004, 0.012, 3, 0.5, 0.0004),
            (0.002, 0.03, 5, 0.2, 0.0001),
            (0.008, 0.002, 1, 0.5, 0.0002),
        ] {
            let kind =
                RequestKind { cpu_s, wait_s, waits, cv2, handoff_s, ..RequestKind::default() };
            let mut observations = vec![unloaded(&kind.demand())];
            for threads in [4, 16] {
                observations.push(Observation {
                    saturated_rps: Some(simulated(kind, at(1, threads), 2.0)),
                    ..Observation::of(at(1, threads))
                });
            }
            let fit = Fit::to(&observations, 2.0).unwrap();
            for (workers, threads) in [(1, 2), (1, 8), (2, 1), (2, 4), (4, 1), (4, 2), (4, 8)] {
                let there = at(workers, threads);
                let predicted = closed_throughput(&fit.demand, there, 2.0);
                let ratio = predicted / simulated(kind, there, 2.0);
                assert!((ratio - 1.0).abs() < 0.06, "{there}: {ratio} {:?}", fit.demand);
            }
        }
    }

    #[test]
    fn one_unloaded_trial_is_enough_for_a_first_guess() {
        let truth = Demand { cpu_s: 0.01, wait_s: 0.03, ..Demand::default() };
        let demand = fit(&[unloaded(&truth)], 2.0).unwrap();
        assert!(
            (demand.cpu_s / 0.01 - 1.0).abs() < 0.01 && (demand.wait_s / 0.03 - 1.0).abs() < 0.01
        );
    }

    #[test]
    fn throughput_alone_gives_a_demand_that_explains_it() {
        let observation = Observation { saturated_rps: Some(80.0), ..Observation::of(at(2, 3)) };
        let demand = fit(&[observation], 2.0).unwrap();
        assert!((closed_throughput(&demand, at(2, 3), 2.0) / 80.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn nothing_measured_gives_nothing() {
        assert_eq!(fit(&[], 2.0), None);
        assert_eq!(fit(&[Observation::of(at(1, 1))], 2.0), None);
        let nonsense = Observation { saturated_rps: Some(f64::NAN), ..Observation::of(at(1, 1)) };
        assert_eq!(fit(&[nonsense], 2.0), None);
    }

    #[test]
    fn cpu_beyond_one_core_a_worker_is_outside_the_lock() {
        let observation = Observation {
            cpu_per_request_s: Some(0.012),
            unloaded_latency_s: Some(0.015),
            worker_busy_cores: Some(1.5),
            ..Observation::of(at(1, 8))
        };
        let demand = fit(&[observation], 4.0).unwrap();
        assert!((demand.cpu_s / 0.008 - 1.0).abs() < 0.05, "{demand:?}");
        assert!((demand.cpu_free_s / 0.004 - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_prediction_is_surer_near_what_was_measured_and_covers_what_made_it() {
        let truth = Demand { cpu_s: 0.004, wait_s: 0.02, contention: 1.5, ..Demand::default() };
        let few = Fit::to(&[unloaded(&truth)], 4.0).unwrap();
        let more = Fit::to(&[unloaded(&truth), saturated(&truth, at(1, 8), 4.0)], 4.0).unwrap();
        let of =
            |fit: &Fit| fit.predict(0.9, 0.0, |d| closed_throughput(d, at(2, 8), 4.0)).unwrap();
        let true_rate = closed_throughput(&truth, at(2, 8), 4.0);
        for prediction in [of(&few), of(&more)] {
            assert!(prediction.low < true_rate && true_rate < prediction.high, "{prediction:?}");
        }
        assert!(of(&more).relative_half_width() < of(&few).relative_half_width());
    }
}
