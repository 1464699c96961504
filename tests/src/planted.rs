//! The campaigns of the planted bugs, for tests that hold for each of them.

/// A test for each planted bug and one for its fixed twin, both by `check(test, folder, campaign file, exit code)`. Not
/// for `late-sweep`: of the trials of a world only the last waits for the sweep, so they come to no one verdict.
#[macro_export]
macro_rules! planted_campaigns {
    ($check:ident) => {
        $crate::planted_campaigns! { $check:
            age age_fixed "age",
            creation_order creation_order_fixed "creation-order",
            deleted_while_down deleted_while_down_fixed "deleted-while-down",
            late_work late_work_fixed "late-work",
            managed_fields managed_fields_fixed "managed-fields",
            observed_generation observed_generation_fixed "observed-generation",
            secret_state secret_state_fixed "secret-state",
            two_crashes two_crashes_fixed "two-crashes",
            user_write user_write_fixed "user-write",
        }
    };
    ($check:ident: $($written:ident $fixed:ident $bug:literal,)*) => {$(
        #[test]
        fn $written() {
            $check($bug, concat!("tests/campaigns/", $bug), "campaign.yaml", 100);
        }

        #[test]
        fn $fixed() {
            $check(concat!($bug, "-fixed"), concat!("tests/campaigns/", $bug), "fixed.yaml", 0);
        }
    )*};
}
