//! The property of the `envelope` target, over the corpus and mutations of it.

use std::panic::catch_unwind;

use rota_fuzz::{corpus, envelope, mutate};

const MUTATIONS: usize = 20_000;

#[test]
fn accepted_envelopes_are_well_formed_and_not_forged() {
    let seed = mutate::seed();
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut seeds = Vec::new();
    for (name, bytes) in corpus::of("envelope") {
        let accepted = envelope::check(&bytes);
        assert_eq!(accepted, !name.starts_with("bad-"), "{name}");
        seeds.push(bytes);
    }
    let mut accepted = 0;
    for _ in 0..MUTATIONS {
        let bytes = mutate::one_of(&seeds, &mut rng);
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let checked = catch_unwind(|| envelope::check(&bytes));
        accepted += usize::from(checked.unwrap_or_else(|_| panic!("ROTA_SEED={seed}: {shown}")));
    }
    assert!(accepted > MUTATIONS / 50, "only {accepted} mutations were accepted");
}
