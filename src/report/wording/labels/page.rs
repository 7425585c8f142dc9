//! What only the page says: its headings, buttons, axes and sentences. In `{braces}` stands what
//! the page puts there; words that other reports have too are theirs.

use schemars::JsonSchema;
use serde::Serialize;

words! {
    /// One language's.
    PageWords:

    // Around every page.
    language theme theme_system theme_light theme_dark sessions sections made_by skip
    unreadable other_format unreachable loading nothing

    // Headings, and what to look for below them.
    in_figures how_sure how_sure_lead map_lead capacity_lead latency_and_load latency_lead
    cpu_by_process cpu_lead memory_lead spectrum spectrum_lead trials_lead front_lead knobs_part
    knobs_lead map_part predict predict_lead

    // The decision.
    snippet into_file into_server_file database_connections confidence as_good decision

    // What can be pressed.
    copy copied not_copied data copy_csv save_csv show_all compare

    // Single words: heads of columns, legends, axes.
    threads master worker shared state low high why quantile latencies
    machine_busy steal throttled figure compared_change observations run changes duration
    what started session status published needed holds sent rps offered_load seconds
    busy_cores connections change_a_to_b measured unknown cannot_run

    // States, verdicts and phases, named as in the data.
    running done interrupted yes no undecided warm_up measure drain
    warm_up_flat warm_up_warmed warm_up_slowing warm_up_not_steady
    standing_better standing_worse standing_equivalent standing_undecided

    // Beside charts.
    at_load memory_limit memory_far backlog backlog_far no_queue no_detail

    // What a chart shows, for those who don't see it.
    sure_label map_label capacity_label latency_label cpu_label flow_label bands_label queue_label
    memory_label spectrum_label predict_label compare_label lab_label live_label scroll_label

    // Trials.
    filter any shown trials_of no_match none_yet trial_id start_id warm_up_of clients valid
    not_valid last_lines cpu_time requests process_cpu listen_queue

    // Predictions.
    cores wait wait_of as_measured measured_on_cores doubts would_hold asking no_prediction
    against_workers against_threads

    // Two sessions.
    comparison compared_better compared_worse compared_equivalent compared_undecided refused
    figures ratios sides differences left_out within_blocks name runtime

    // A published experiment.
    measured_here machine_here machine_there rule source quick scale conclusions runs
    at_least_value at_most_value relative_throughput mean_latency longest_latency good_replies

    // The list, and a session that runs.
    session_id no_sessions pick pick_two so_far done_of between_trials lost ended decided state_now
}
