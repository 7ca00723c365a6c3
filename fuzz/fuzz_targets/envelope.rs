#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rota_fuzz::envelope::check(bytes);
});
