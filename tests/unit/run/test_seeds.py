"""Seeds of runs, iterations and tiles are all different, and always the same."""

from loadstone.run.seeds import derive_iteration_seed, derive_run_seed, derive_seed, derive_tile_seed


def test_all_iterations_of_all_runs_of_a_study_have_seeds_of_their_own() -> None:
    runs = [derive_run_seed(1, number) for number in range(300)]
    seeds = [derive_iteration_seed(run, iteration) for run in runs for iteration in range(1, 10)]
    seeds += [derive_tile_seed(run, number) for run in runs for number in range(1, 20)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_first_iteration_is_what_its_runs_seed_says() -> None:
    assert derive_iteration_seed(7, 1) == 7
    assert derive_iteration_seed(7, 2) != 8


def test_seeds_are_the_same_with_every_version() -> None:
    assert derive_seed(1, "run", 1) == 2_589_238_453_965_423_550
