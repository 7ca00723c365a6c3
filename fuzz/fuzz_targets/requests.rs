#![no_main]

use std::sync::LazyLock;

use rota_fuzz::requests::Fixture;

static FIXTURE: LazyLock<Fixture> = LazyLock::new(Fixture::without_engine);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    FIXTURE.check(bytes);
});
