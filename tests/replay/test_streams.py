"""What the replay draws is independent of what others draw from the same seed and the same attempt numbers."""

import numpy as np
import warp as wp

from r2s2r.replay.batch import BatchReplay

ATTEMPTS = 4000


@wp.kernel
def _coin(seed: int, number: wp.array(dtype=wp.int32), side: wp.array(dtype=wp.int64)):
    """What a scene draws first: the class of its target."""
    env = wp.tid()
    side[env] = wp.int64(wp.randi(wp.rand_init(seed, number[env]), 0, 2))


def test_choice_does_not_follow_from_a_coin_tossed_with_the_same_seed_and_number(make_counting, quiet, device):
    """With one stream for both, an even draw would mean class 0 and an even demonstration: half of them unused."""
    demos = [[make_counting(name=f"{c}_{k}") for k in range(10)] for c in range(2)]
    replay = BatchReplay(demos, ATTEMPTS, device, quiet(seed=3))
    number = wp.array(np.arange(ATTEMPTS), dtype=wp.int32, device=device)
    side = wp.zeros(ATTEMPTS, dtype=wp.int64, device=device)
    wp.launch(_coin, dim=ATTEMPTS, inputs=[3, number], outputs=[side], device=device)
    replay.start(number, number, side)
    chosen, classes = replay.demo.numpy(), side.numpy()
    for index in range(2):
        counts = np.bincount(chosen[classes == index] - 10 * index, minlength=10)
        share = counts / counts.sum()
        sigma = np.sqrt(0.1 * 0.9 / counts.sum())
        assert np.abs(share - 0.1).max() < 5 * sigma, counts
