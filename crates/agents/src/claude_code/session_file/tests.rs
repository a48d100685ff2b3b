//! Names and times that must be those of the agent.

use super::{folder_slug, timestamp, uuid};

#[test]
fn folders_are_named_as_the_agent_names_them() {
    let long = format!("/home/{}", "a".repeat(250));
    let cut = format!("-home-{}", "a".repeat(194));
    // The numbers are those of the agent's own function.
    let table = [
        ("/home/me/my project", "-home-me-my-project".to_owned()),
        ("/srv/x_y.z", "-srv-x-y-z".to_owned()),
        ("/größe/😀", "-gr--e---".to_owned()),
        (&long, format!("{cut}-bznlfj")),
    ];
    for (folder, expected) in table {
        assert_eq!(folder_slug(folder), expected);
    }
}

#[test]
fn times_are_written_as_the_agent_writes_them() {
    let table = [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_794_710_818_717, "2026-11-15T02:46:58.717Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    ];
    for (now, expected) in table {
        assert_eq!(timestamp(now), expected);
    }
}

#[test]
fn numbers_become_uuids_of_the_fourth_kind() {
    assert_eq!(uuid(0), "00000000-0000-4000-8000-000000000000");
    assert_eq!(uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}
