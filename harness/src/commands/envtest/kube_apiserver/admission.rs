//! Which admission plug-ins are on: as by default, but for ServiceAccount, which can be switched off.
//!
//! A plug-in that does not exist here can be switched off, and not on; one that does can't be switched off.

/// Plug-ins that do here what they do upstream.
const ON: &[&str] = &[
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "LimitRanger",
    "MutatingAdmissionWebhook",
    "NamespaceLifecycle",
    "PersistentVolumeClaimResize",
    "Priority",
    "ResourceQuota",
    "ServiceAccount",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
];

/// Plug-ins that upstream has on by default and that are not there.
const DEFAULTS_ABSENT: &[&str] = &[
    "ClusterTrustBundleAttest",
    "DefaultIngressClass",
    "JobValidation",
    "MutatingAdmissionPolicy",
    "NodeDeclaredFeatureValidator",
    "PodGroupProtection",
    "PodGroupWorkloadExists",
    "PodResizeValidator",
    "PodSecurity",
    "PodTopologyLabels",
    "RuntimeClass",
];

/// The rest of upstream's, off by default.
const OFF: &[&str] = &[
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "LimitPodHardAntiAffinityTopology",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "PodNodeSelector",
    "PodTolerationRestriction",
];

/// The one that can be off.
const SERVICE_ACCOUNT: &str = "ServiceAccount";

/// Whether ServiceAccount is on, where these are switched on and those off. Errors: a plug-in that can't be, or that
/// upstream does not know either.
pub fn service_accounts(on: &[&str], off: &[&str]) -> Result<bool, String> {
    let known = |name: &&&str| [ON, DEFAULTS_ABSENT, OFF].iter().any(|list| list.contains(name));
    if let Some(name) = on.iter().chain(off).find(|name| !known(name)) {
        return Err(format!("admission plugin {name:?} is unknown"));
    }
    if let Some(name) = on.iter().find(|name| off.contains(name)) {
        // Upstream's words.
        return Err(format!(
            "{name} in enable-admission-plugins and disable-admission-plugins overlapped"
        ));
    }
    if let Some(name) = on.iter().find(|name| !ON.contains(name) && **name != "AlwaysAdmit") {
        return Err(format!("--enable-admission-plugins={name}: this stand-in does not have it"));
    }
    let kept = |name: &&&str| ON.contains(name) && **name != SERVICE_ACCOUNT;
    if let Some(name) = off.iter().find(kept) {
        return Err(format!("--disable-admission-plugins={name}: this stand-in always has it"));
    }
    Ok(!off.contains(&SERVICE_ACCOUNT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_can_be_off_and_none_on_that_is_not_there() {
        assert_eq!(service_accounts(&[], &[]), Ok(true));
        assert_eq!(service_accounts(&["ResourceQuota"], &["ServiceAccount"]), Ok(false));
        assert_eq!(service_accounts(&[], &["PodSecurity"]), Ok(true));
        let check = |on: &[&str], off: &[&str], expect: &str| {
            let error = service_accounts(on, off).expect_err(expect);
            assert!(error.contains(expect), "{error}");
        };
        check(&["Nonsense"], &[], "\"Nonsense\" is unknown");
        check(&["NodeRestriction"], &[], "does not have it");
        check(&["PodSecurity"], &[], "does not have it");
        check(&[], &["NamespaceLifecycle"], "always has it");
        check(&["LimitRanger"], &["LimitRanger"], "overlapped");
    }
}
