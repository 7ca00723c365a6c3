//! Several reports about one job in one request.

use rota_engine::{Ack, Command, Holder, Refusal, Reply, Settle};
use rota_model::State;

use crate::world::{World, job};

#[test]
fn a_second_ack_in_one_request_is_told_that_the_job_is_completed() {
    let mut world = World::new();
    let seq = world.enqueue(&job("a"), 1)[0];
    world.fetch(1);
    let ack = || {
        let job = world.target(seq);
        Settle::Ack(Ack { job, holder: Holder::default(), result: None })
    };
    let both = vec![ack(), ack()];
    let Reply::Settled(outcomes) = world.apply(Command::Settle(both)) else { panic!() };
    assert_eq!(outcomes[0].as_ref().map(|settled| settled.state), Ok(State::Completed));
    assert_eq!(outcomes[1], Err(Refusal::NotActive { state: State::Completed }));
}
