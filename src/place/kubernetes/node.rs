//! What a pod sees of the node that it runs on.
//!
//! In: the kernel's files. Out: facts. Only computes.

/// Prints what [`facts`] reads.
pub const COMMAND: [&str; 5] =
    ["cat", "/proc/cpuinfo", "/proc/meminfo", "/proc/self/status", "/proc/sys/kernel/osrelease"];

/// Of a node; empty and zero where it is not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub cpu_model: String,
    pub cores: u32,
    /// Of them, those that the container may run on: fewer where it has cores of its own.
    pub allowed: u32,
    pub memory_bytes: u64,
    /// Release.
    pub kernel: String,
}

/// What the files say.
pub fn facts(lines: &[String]) -> Facts {
    let mut facts = Facts::default();
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            // The only file without names.
            facts.kernel = line.trim().to_string();
            continue;
        };
        let (name, value) = (name.trim(), value.trim());
        match name {
            "processor" => facts.cores += 1,
            "Cpus_allowed_list" => facts.allowed = count(value),
            "model name" if facts.cpu_model.is_empty() => facts.cpu_model = value.to_string(),
            // ARM's processors have no name there.
            "CPU implementer" | "CPU part" if facts.cores <= 1 => {
                facts.cpu_model = format!("{} {name} {value}", facts.cpu_model);
                facts.cpu_model = facts.cpu_model.trim().to_string();
            }
            "MemTotal" => {
                let kib = value.strip_suffix("kB").and_then(|it| it.trim().parse::<u64>().ok());
                facts.memory_bytes = kib.unwrap_or(0) << 10;
            }
            _ => {}
        }
    }
    facts
}

/// Of a list such as `0-3,8`.
fn count(list: &str) -> u32 {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').filter_map(range).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read() {
        let text = "processor\t: 0\nmodel name\t: EPYC\n\nprocessor\t: 1\nmodel name\t: EPYC\n\
                    MemTotal:        2048 kB\nMemFree:  1 kB\nName:\tcat\n\
                    Cpus_allowed:\t13\nCpus_allowed_list:\t0-1,4\n6.1.0-9\n";
        let lines: Vec<String> = text.lines().map(str::to_string).collect();
        let expected = Facts {
            cpu_model: "EPYC".into(),
            cores: 2,
            allowed: 3,
            memory_bytes: 2 << 20,
            kernel: "6.1.0-9".into(),
        };
        assert_eq!(facts(&lines), expected);
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\
                   processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        let lines: Vec<String> = arm.lines().map(str::to_string).collect();
        assert_eq!(facts(&lines).cpu_model, "CPU implementer 0x41 CPU part 0xd0c");
        assert_eq!(facts(&[]), Facts::default());
    }
}
