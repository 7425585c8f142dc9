//! What nobody else has: names of what is made in a cluster, and tokens that generators show.

use ring::rand::{SecureRandom, SystemRandom};

use super::FleetError;

/// 16 hexadecimal digits.
///
/// # Errors
/// The system gives no random numbers.
pub fn identifier() -> Result<String, FleetError> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| FleetError::NoRandomNumbers)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
