//! Which admission plug-ins are on: as by default, but for ServiceAccount and PodSecurity, which can be switched off.
//!
//! A plug-in that does not exist here can be switched off, and not on; any other that does can't be switched off.

use crate::config::PodSecurity;

/// Plug-ins that do here what they do upstream.
const ON: &[&str] = &[
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "LimitRanger",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "NamespaceLifecycle",
    "PersistentVolumeClaimResize",
    "PodSecurity",
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
    "NodeDeclaredFeatureValidator",
    "PodGroupProtection",
    "PodGroupWorkloadExists",
    "PodResizeValidator",
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

/// Those that can be off.
const SERVICE_ACCOUNT: &str = "ServiceAccount";
const POD_SECURITY: &str = "PodSecurity";

/// Of those that can be off, whether they are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plugins {
    pub service_accounts: bool,
    pub pod_security: PodSecurity,
}

impl Plugins {
    /// What is on where these are switched on and those off. Errors: a plug-in that can't be, or that upstream does not
    /// know either.
    pub fn read(on: &[&str], off: &[&str]) -> Result<Plugins, String> {
        let known =
            |name: &&&str| [ON, DEFAULTS_ABSENT, OFF].iter().any(|list| list.contains(name));
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
            return Err(format!(
                "--enable-admission-plugins={name}: this stand-in does not have it"
            ));
        }
        let kept =
            |name: &&&str| ON.contains(name) && ![SERVICE_ACCOUNT, POD_SECURITY].contains(name);
        if let Some(name) = off.iter().find(kept) {
            return Err(format!("--disable-admission-plugins={name}: this stand-in always has it"));
        }
        Ok(Plugins {
            service_accounts: !off.contains(&SERVICE_ACCOUNT),
            pod_security: match off.contains(&POD_SECURITY) {
                true => PodSecurity::None,
                false => PodSecurity::Labels,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_can_be_off_and_none_on_that_is_not_there() {
        let read = |on: &[&str], off: &[&str]| {
            Plugins::read(on, off).map(|plugins| (plugins.service_accounts, plugins.pod_security))
        };
        assert_eq!(read(&[], &[]), Ok((true, PodSecurity::Labels)));
        let off = ["ServiceAccount"];
        assert_eq!(read(&["PodSecurity"], &off), Ok((false, PodSecurity::Labels)));
        assert_eq!(read(&[], &["PodSecurity"]), Ok((true, PodSecurity::None)));
        let check = |on: &[&str], off: &[&str], expect: &str| {
            let error = read(on, off).expect_err(expect);
            assert!(error.contains(expect), "{error}");
        };
        check(&["Nonsense"], &[], "\"Nonsense\" is unknown");
        check(&["NodeRestriction"], &[], "does not have it");
        check(&["RuntimeClass"], &[], "does not have it");
        check(&[], &["NamespaceLifecycle"], "always has it");
        check(&["LimitRanger"], &["LimitRanger"], "overlapped");
    }
}
