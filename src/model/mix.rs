//! Requests of another kind beside those that were measured.

use super::Demand;
use super::simulator::RequestKind;
use crate::terms::OtherRequests;

/// The mean request of a mix, `measured` making up what the others leave.
///
/// Means add up by their shares; so do mean squares, from which follow how much requests vary and
/// how long a thread that finds the lock held waits: E[h^2] / (2 E[h]^2) mean holds.
pub(super) fn mixed(measured: &Demand, others: &[OtherRequests]) -> Demand {
    if others.is_empty() {
        return *measured;
    }
    let rest = rest(others);
    let sum = |of_measured: f64, of: &dyn Fn(&OtherRequests) -> f64| {
        rest * of_measured + others.iter().map(|it| it.share.get() * of(it)).sum::<f64>()
    };
    let cpu_s = sum(measured.cpu_s, &|other| other.cpu_s);
    let wait_s = sum(measured.wait_s, &|other| other.wait_s);
    let cpu_free_s = rest * measured.cpu_free_s;
    let latency_s = cpu_s + cpu_free_s + wait_s;
    let square = sum((1.0 + measured.cv2) * measured.unloaded_latency_s().powi(2), &|other| {
        (other.cpu_s + other.wait_s).powi(2)
    });
    let hold_square =
        sum(2.0 * measured.contention * measured.cpu_s.powi(2), &|other| other.cpu_s.powi(2));
    Demand {
        cpu_s,
        cpu_free_s,
        wait_s,
        cv2: (square / latency_s.powi(2).max(f64::MIN_POSITIVE) - 1.0).max(0.0),
        contention: hold_square / (2.0 * cpu_s.powi(2)).max(f64::MIN_POSITIVE),
        sizes: None,
        ..*measured
    }
}

/// The kinds of a mix for the simulator, the measured one first.
pub(super) fn kinds(measured: RequestKind, others: &[OtherRequests]) -> Vec<RequestKind> {
    let of = |other: &OtherRequests| RequestKind {
        weight: other.share.get(),
        cpu_s: other.cpu_s,
        wait_s: other.wait_s,
        waits: 1,
        cv2: 0.0,
        handoff_s: measured.handoff_s,
        ..RequestKind::default()
    };
    let first = RequestKind { weight: rest(others), ..measured };
    std::iter::once(first).chain(others.iter().map(of)).collect()
}

fn rest(others: &[OtherRequests]) -> f64 {
    (1.0 - others.iter().map(|other| other.share.get()).sum::<f64>()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Ratio;

    fn slow(share: f64, cpu_s: f64, wait_s: f64) -> OtherRequests {
        OtherRequests { share: Ratio::new(share).unwrap(), cpu_s, wait_s }
    }

    #[test]
    fn a_mix_is_the_mean_of_its_kinds_and_varies_more_than_either() {
        let fast = Demand { cpu_s: 0.01, wait_s: 0.01, cv2: 0.0, ..Demand::default() };
        assert_eq!(mixed(&fast, &[]), fast);
        let mix = mixed(&fast, &[slow(0.1, 0.01, 0.19)]);
        assert!((mix.cpu_s - 0.01).abs() < 1e-12 && (mix.wait_s - 0.028).abs() < 1e-12);
        // 0.9 of 20 ms and 0.1 of 200 ms: mean 38 ms, mean square 4.36e-3.
        assert!((mix.cv2 - (4.36e-3 / 0.038_f64.powi(2) - 1.0)).abs() < 1e-9, "{}", mix.cv2);
        assert!(mixed(&fast, &[slow(0.05, 0.3, 0.0)]).contention > 2.0);
    }

    #[test]
    fn the_kinds_add_up_to_one() {
        let measured = RequestKind { cpu_s: 0.01, ..RequestKind::default() };
        let kinds = kinds(measured, &[slow(0.2, 0.1, 0.0), slow(0.3, 0.0, 1.0)]);
        let weights: Vec<f64> = kinds.iter().map(|kind| kind.weight).collect();
        assert_eq!(kinds.len(), 3);
        assert!((weights[0] - 0.5).abs() < 1e-12 && weights[1..] == [0.2, 0.3]);
    }
}
