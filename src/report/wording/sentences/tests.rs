use super::*;

/// The form with something in each hole.
fn sample(pattern: &Pattern) -> (String, Vec<String>) {
    let holes = pattern.is_number.iter().enumerate();
    let filled: Vec<String> = holes
        .map(|(at, typed)| if *typed { format!("{at}7") } else { format!("hole{at}") })
        .collect();
    let mut text = pattern.pieces[0].to_string();
    for (hole, piece) in filled.iter().zip(&pattern.pieces[1..]) {
        text = text + hole + piece;
    }
    (text, filled)
}

/// Where a translation may take this hole.
fn places(hole: usize) -> [String; 2] {
    ["", "="].map(|typed| format!("{{{typed}{}}}", hole + 1))
}

#[test]
fn every_sentence_of_a_form_is_told_in_its_translation() {
    for form in JAPANESE.iter() {
        let (text, filled) = sample(&form.english);
        let mut expected = form.translation.to_string();
        for (at, hole) in filled.iter().enumerate() {
            for place in places(at) {
                expected = expected.replace(&place, hole);
            }
        }
        assert_eq!(in_japanese(&text), Some(expected), "{text}");
        // An English plural's ending has no place in Japanese.
        let is_lost = |at: &usize| {
            let is_ending = form.english.pieces[*at].ends_with(|c: char| c.is_ascii_alphabetic());
            !is_ending && !places(*at).iter().any(|it| form.translation.contains(it))
        };
        let lost: Vec<usize> = (0..filled.len()).filter(is_lost).collect();
        assert!(lost.is_empty(), "{text}: {lost:?} of {} are not told", form.translation);
    }
}

#[test]
fn a_file_has_a_translation_below_each_form() {
    let lines = include_str!("japanese.txt").split("\n\n").filter(|it| !it.starts_with('#'));
    for pair in lines {
        let pair: Vec<&str> = pair.trim_end().lines().collect();
        assert_eq!(pair.len(), 2, "{pair:?}");
        assert!(pair[0].is_ascii() && !pair[1].is_ascii(), "{pair:?}");
    }
}

#[test]
fn what_is_filled_in_is_told_too() {
    for (sentence, expected) in [
        (
            "p95<200ms: 12 of 240 were slower (5 %, 5 % may); too close to tell; run it longer; \
             500 requests cannot tell 13 % apart",
            "p95<200ms: 240 件のうち 12 件が上限超過（5 %、許容は 5 %）。差が小さく判定できません。もっと\
             長く計測してください。500 リクエストでは 13 % の差を見分けられません",
        ),
        (
            "fresh starts of this session tell the capacity to ±7 %; ±3 % takes about 2.5 hours \
             more",
            "このセッションの起動し直しで、さばける量は ±7 % までわかっています。±3 % まで知るには、あと約 \
             2.5 時間かかります",
        ),
        (
            "8 threads are the most that were tried; more may hold more: try --threads 8..16",
            "試したスレッドは 8 までです。増やすともっとさばけるかもしれません: --threads 8..16 を試し\
             てください",
        ),
    ] {
        assert_eq!(in_japanese(sentence).as_deref(), Some(expected));
    }
}

#[test]
fn text_of_others_stays_as_it_is() {
    let theirs = "ActiveRecord::ConnectionNotEstablished: too many <clients> {} {1} 🔥";
    for text in [theirs, "", "the database refuses connections", "{} {1}", "日本語"] {
        assert_eq!(in_japanese(text), None, "{text}");
    }
    let endless = "; it failed: a".repeat(1_000_000);
    assert_eq!(in_japanese(&endless), None);
    let failed = format!("it ended before it was ready ({theirs})");
    assert_eq!(in_japanese(&failed), Some(format!("準備ができる前に終了しました（{theirs}）")));
}
