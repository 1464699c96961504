//! The core branches of the controllers, and which of them were ever taken in this process.
//!
//! A branch says `branch!(Name)` where it begins. So tests can tell which branches no scenario comes to: a port of
//! which half was never run agrees with its original on nothing but the other half. What a branch costs is reading a
//! flag. Nothing is decided by it.

use std::sync::atomic::{AtomicBool, Ordering};

static TAKEN: [AtomicBool; Branch::ALL.len()] =
    [const { AtomicBool::new(false) }; Branch::ALL.len()];

impl Branch {
    /// Says that it is taken.
    #[inline]
    pub(crate) fn take(self) {
        let taken = &TAKEN[self as usize];
        // Written once: threads would take the line from each other.
        if !taken.load(Ordering::Relaxed) {
            taken.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it is one of the scheduler's.
    pub fn is_of_scheduler(self) -> bool {
        self as usize >= Branch::SchedulerSpreadNoLabel as usize
            && self as usize <= Branch::SchedulerTakesVolume as usize
    }

    /// Whether it ever was, by anybody in this process.
    pub fn was_taken(self) -> bool {
        TAKEN[self as usize].load(Ordering::Relaxed)
    }
}

/// Says that this branch is taken.
macro_rules! branch {
    ($name:ident) => {
        $crate::branches::Branch::$name.take()
    };
}

macro_rules! branches {
    ($($name:ident = $text:literal,)*) => {
        /// A branch of a controller. See the module's documentation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Branch {
            $(#[doc = $text] $name,)*
        }

        impl Branch {
            /// All of them.
            pub const ALL: &[Branch] = &[$(Branch::$name),*];

            /// When it is taken.
            pub fn text(self) -> &'static str {
                match self {
                    $(Branch::$name => $text,)*
                }
            }
        }
    };
}

branches! {
    DeploymentDeleted = "only the status of one that is deleted",
    DeploymentSynced = "paused or scaled: no rollout",
    DeploymentKeepsSet = "the new ReplicaSet gets annotations",
    DeploymentFindsSet = "a ReplicaSet of the template is there already",
    DeploymentMakesSet = "a new ReplicaSet",
    DeploymentCollision = "the name of the new ReplicaSet is taken",
    DeploymentNoRoom = "no room for more new pods",
    DeploymentRevisionAgain = "an old ReplicaSet becomes the new one again",
    DeploymentShrinksNew = "the new ReplicaSet is too large",
    DeploymentSeesOldStatus = "the status of an old ReplicaSet counts more pods than it has now",
    DeploymentDropsUnhealthy = "old pods that are not available go first",
    DeploymentShrinksOld = "an old ReplicaSet shrinks",
    DeploymentRecreateWaits = "Recreate waits for old pods",
    DeploymentRecreates = "Recreate makes the new ReplicaSet",
    DeploymentScalesOne = "the only active ReplicaSet is scaled",
    DeploymentScalesSaturated = "a new ReplicaSet that is complete, beside active old ones",
    DeploymentScalesAll = "scaled in proportion",
    DeploymentKeepsBusy = "an old ReplicaSet beyond the limit that still has pods",
    DeploymentForgets = "an old ReplicaSet beyond the limit goes",
    DeploymentPaused = "paused",
    DeploymentResumed = "resumed",
    DeploymentComplete = "a rollout is complete",
    DeploymentLate = "a rollout missed its deadline",
    DeploymentTellsFailure = "pods can not be made",
    Releases = "what no longer matches is released",
    Adopts = "what matches and nobody controls is adopted",
    ReplicaSetTerminating = "a pod that is going",
    ReplicaSetShrinks = "too many pods",
    ReplicaSetGrows = "too few pods",
    ReplicaSetMinReady = "a pod is ready, but not for long enough",
    ReplicaSetFailedCreate = "a pod is refused",
    ReplicaSetRanks = "pods are ranked for deletion",
    ReplicaSetRanksSiblings = "pods of a Deployment are ranked by how crowded their nodes are",
    ReplicationController = "a ReplicationController",
    GcWaits = "an owner waits for those that block it",
    GcForegroundEnds = "an owner that waited goes",
    GcForgetsOwners = "one owner is left, others are absent",
    GcUnblocks = "objects that wait for each other",
    GcForeground = "deleted in the foreground, as its owner",
    GcBackground = "deleted since no owner is left",
    GcOrphans = "dependents are let go",
    GcBadOwner = "an object of no namespace with an owner in one",
    GcDangling = "an owner is absent",
    NamespacePodsFirst = "pods hold up the rest",
    NamespaceComesBack = "content needs time",
    NamespaceFinalizes = "a namespace is empty",
    NamespaceFinalizers = "finalizers hold content",
    StatefulRollsBack = "an old revision becomes the newest",
    StatefulUpdates = "a pod of an old revision is deleted",
    StatefulUpdateWaits = "an update waits for a pod",
    StatefulComplete = "an update is complete",
    StatefulOnDelete = "nothing is updated by itself",
    StatefulMinReady = "a pod is ready, but not for long enough",
    StatefulReplaces = "a pod has ended",
    StatefulWaits = "in order: waits for a pod",
    StatefulWrongStorage = "a pod without its claims",
    StatefulNames = "a pod gets its labels",
    StatefulStaleClaim = "a claim still goes with the pod before",
    StatefulOldPod = "a pod of the current revision is made below the partition",
    StatefulShrinkWaits = "in order: a pod that is not available keeps others",
    StatefulShrinks = "a pod beyond the last ordinal goes",
    StatefulClaimGoes = "a claim is being deleted",
    StatefulMakesClaim = "a claim is made",
    StatefulKeepsClaim = "the owners of a claim change with the policy",
    HistoryAdopts = "a revision that nobody controls is adopted",
    HistoryCollision = "the name of a revision is taken",
    HistoryForgets = "a revision beyond the limit goes",
    DaemonStarts = "a node gets its pod",
    DaemonLeaves = "a pod may not stay on its node",
    DaemonReplaces = "a pod has ended",
    DaemonSurgeEnds = "the new pod of a node takes over",
    DaemonDropsUnavailable = "an old pod that is not available goes first",
    DaemonUpdateWaits = "an update waits",
    DaemonUpdates = "an old pod may go",
    DaemonSurges = "a new pod comes beside the old one",
    DaemonRollsBack = "an old revision becomes the newest",
    DaemonForgets = "a revision beyond the limit goes",
    DaemonMisscheduled = "a pod where none should be",
    JobFailsByPolicy = "a rule fails the Job",
    JobFailsByLimit = "too many failures",
    JobFailsByDeadline = "too long",
    JobRestarts = "restarts in pods count",
    JobFailsByIndexes = "too many failed indexes",
    JobFailedIndexes = "all indexes are done, some failed",
    JobSucceedsByPolicy = "a success policy is met",
    JobSuspended = "suspended: no pods",
    JobWorkQueueEnds = "a work queue that ends makes no more pods",
    JobShrinks = "too many pods",
    JobDoubles = "pods by index",
    JobBacksOff = "waits after a failure",
    JobIndexBacksOff = "every index waits after a failure",
    JobFailedCreate = "a pod is refused",
    JobNotesSuccess = "a success is noted",
    JobNotesFailure = "a failure is noted",
    JobCompletes = "complete",
    JobEndWaits = "the end waits for pods",
    JobIgnores = "a failure is not counted",
    JobRuleByCondition = "a rule on conditions",
    JobOrphan = "a pod that no Job counts is let go",
    JobTellsSuspended = "suspended",
    TtlWaits = "a Job that is over stays for a while",
    TtlDeletes = "a Job that is over goes",
    SliceNoNode = "a pod on a node that does not exist",
    SlicePlaceholderStays = "an empty slice stays",
    SlicePlaceholder = "an empty slice for a Service without pods",
    SliceEmptied = "a slice loses all its endpoints",
    SliceUpdated = "a slice changes",
    SliceReused = "a slice that would go takes the place of a new one",
    SliceShares = "endpoints are shared out by zones",
    SliceShareMoved = "an endpoint is meant for another zone than its own",
    SliceSharesUnfair = "too few endpoints for the zones",
    SliceOverloaded = "other nodes leave a zone with too few endpoints",
    SliceHints = "only the hints of a slice change",
    SliceDeleted = "a slice goes",
    SliceAway = "somebody gave a slice away",
    MirrorAway = "somebody gave a mirrored slice away",
    MirrorCleared = "Endpoints are not mirrored any more",
    MirrorReused = "a mirrored slice that would go takes the place of a new one",
    MirrorMade = "a mirrored slice",
    MirrorUpdated = "a mirrored slice changes",
    EndpointsGo = "a Service is gone",
    EndpointsWithoutPorts = "a headless Service without ports",
    EndpointsUpdated = "Endpoints change",
    BudgetRemembers = "an evicted pod that is not gone",
    BudgetSpent = "no eviction is allowed",
    BudgetAllows = "evictions are allowed",
    BudgetFails = "the scale of a controller is not known",
    BudgetMost = "maxUnavailable",
    BudgetLeast = "minAvailable, a number",
    BudgetShare = "minAvailable, a share",
    BudgetOfStatefulSet = "the scale of a StatefulSet",
    BudgetForgives = "a disruption that did not happen is taken back",
    PodGcNodeGone = "a pod of a node that is gone",
    PodGcDeleted = "a deleted pod that nobody ends",
    NodesAllDown = "no node is ready",
    NodeTaints = "the taints of a node change",
    NodeSilent = "a node is not heard of",
    NodeTaintWaits = "the taint that evicts waits for its turn",
    NodesMostlyDown = "most nodes of a zone are not ready",
    NodePodsNotReady = "pods of a node that is not ready",
    EvictionLater = "a taint is tolerated for a while",
    Evicts = "a taint is not tolerated",
    ClaimFinds = "a claim finds a volume",
    ClaimWaits = "a claim waits for its consumer",
    ClaimAsks = "a claim names a free volume",
    ClaimTaken = "a claim names a volume that is taken",
    ClaimLostName = "a bound claim names no volume",
    ClaimLost = "the volume of a claim is gone",
    VolumeReleased = "the claim of a volume is gone",
    VolumeFails = "a volume that nobody can delete",
    VolumeUnbound = "the claim of a volume has another one",
    ClaimDefaultClass = "a claim gets the default class",
    ClaimNamesResizer = "a claim that grows names the driver of its volume",
    EphemeralMade = "a claim is made for a pod",
    EphemeralTaken = "the claim that a pod asks for is another's",
    TokenFilled = "a Secret gets its token",
    TokenDeleted = "a Secret of an account that is gone",
    TokenForgotten = "an account no longer names a Secret",
    ProtectionEnds = "nobody uses it any more",
    CronSkips = "a start that is late, known or forbidden",
    CronReplaces = "a Job that still runs is replaced",
    CronForgets = "Jobs beyond the limits go",
    CronStarts = "a Job is started",
    AccountMade = "a namespace gets its account",
    RoleAggregated = "a role gets the rules of others",
    RequestApproved = "a kubelet's request is approved",
    RequestFailed = "what was approved may not be signed",
    RequestSigned = "a request gets its certificate",
    RootCaRestored = "the certificate was changed",
    AutoscalerNoScale = "a target that can't be scaled",
    AutoscalerRefused = "a scale is refused",
    AutoscalerScales = "a target is scaled",
    AutoscalerOff = "a target of no pods stays so",
    AutoscalerBounds = "there are more or fewer pods than allowed",
    AutoscalerBadMetric = "a metric can't be had",
    AutoscalerAmbiguous = "pods of several autoscalers",
    AutoscalerStabilized = "more was recommended lately",
    AutoscalerTooFast = "scaled as far as the policies let it",
    AutoscalerUnready = "a pod that has just started",
    AutoscalerMissing = "a pod without metrics",
    QuotaCounted = "more or less is used, or allowed",
    QuotaCountsObjects = "objects of any type are counted",
    QuotaOutOfScope = "a quota is not about an object",
    QuotaForgetsPod = "a pod that has ended, or should have",
    SchedulerSpreadNoLabel = "a node lacks the label that pods are to be spread over",
    SchedulerSpreadSkewed = "too many pods of a kind in one place",
    SchedulerSpreadDefault = "pods of a workload are spread though nobody says so",
    SchedulerSpreadScored = "a node's score counts pods of the same kind",
    SchedulerAffinityUnmet = "a pod is not near those that it wants",
    SchedulerAvoids = "a pod avoids others",
    SchedulerAvoided = "others avoid a pod",
    SchedulerAffinityScored = "a node's score counts pods that it is wanted near to",
    SchedulerClaimLost = "a claim without its volume",
    SchedulerClaimUnbound = "a claim that should be bound by now",
    SchedulerVolumeElsewhere = "a volume that a node can't reach",
    SchedulerNoVolume = "no volume for a claim on a node",
    SchedulerVolumeZone = "a volume of another zone",
    SchedulerDiskTaken = "a disk that another pod of the node has",
    SchedulerClaimInUse = "a claim that only one pod may use",
    SchedulerKeptForOthers = "a node is kept for other pods",
    SchedulerCordoned = "a cordoned node",
    SchedulerTainted = "a tainted node",
    SchedulerNotSelected = "a node that the pod does not select",
    SchedulerPortTaken = "a port that is taken",
    SchedulerTooManyPods = "too many pods on a node",
    SchedulerInsufficient = "too little of something on a node",
    SchedulerNeverPreempts = "a pod that may not preempt",
    SchedulerWaitsForVictims = "a pod waits for those that it preempted",
    SchedulerNoVictims = "preemption does not help",
    SchedulerPreempts = "pods have to go",
    SchedulerReprieves = "a pod that might have to go stays",
    SchedulerViolatesBudget = "preemption violates a budget",
    SchedulerTakesNomination = "a node is no longer kept for a pod of lower priority",
    SchedulerVictimsLeave = "the victims are being deleted already",
    SchedulerNoNodeWillDo = "a pod that fits no node, whatever the nodes",
    SchedulerUsesNominated = "a pod gets the node that is kept for it",
    SchedulerChooses = "several nodes will do",
    SchedulerBindsVolumes = "a pod's volumes are bound first",
    SchedulerTakesVolume = "a claim gets a free volume",
}
