//! What may happen: Kivi's events and its user's commands.

/// Something that may happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// What.
    pub what: What,
    /// Not before no controller has anything to do (`after_stable`).
    pub after_stable: bool,
    /// Nothing else happens as long as it can (`priority`).
    pub priority: bool,
    /// Before anything else (`first`).
    pub first: bool,
}

impl Occurrence {
    /// It may happen at any time.
    pub fn of(what: What) -> Occurrence {
        Occurrence { what, after_stable: false, priority: false, first: false }
    }

    /// It may happen when no controller has anything to do.
    pub fn after_stable(what: What) -> Occurrence {
        Occurrence { after_stable: true, ..Occurrence::of(what) }
    }
}

/// What may happen. Deployments and nodes are places in the description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A pod of a deployment uses more from now on: one to six times `unit_milli` (`eventCpuChange`).
    CpuChange {
        /// Whose pod.
        deployment: usize,
        /// In thousandths of a processor.
        unit_milli: u64,
    },
    /// What pods use follows their templates (`podCpuChangeWithPattern`). So it is wherever a template says.
    CpuPattern,
    /// Nodes of whose processors 2 % or less are free break down, and recover when there is more (`kernelPanic`).
    KernelPanic,
    /// A node fails, and stays so (`nodeFailure`).
    NodeFailure {
        /// Which.
        node: usize,
    },
    /// Each node is taken out of service and comes back, once (`maintenance`).
    Maintenance {
        /// How many are out at a time, at most.
        at_a_time: u32,
        /// How long after one of them the next one goes, at least.
        every_seconds: u32,
    },
    /// A deployment that was described is created (`createTargetDeployment`).
    CreateTarget {
        /// Which.
        deployment: usize,
    },
    /// A new deployment is created (`createDeployment`).
    Create {
        /// A place in [`super::Description::written`].
        written: usize,
    },
    /// What is written down is applied (`applyDeployment`).
    Apply {
        /// A place in [`super::Description::written`].
        written: usize,
    },
    /// A user wants up to three pods more or less (`scaleDeployment`).
    Scale {
        /// Which deployment.
        deployment: usize,
    },
}

impl What {
    /// Kivi's `every_seconds` of maintenance.
    pub const MAINTENANCE_SECONDS: u32 = 60;

    /// Kivi's name of it.
    pub fn name(&self) -> &'static str {
        match self {
            What::CpuChange { .. } => "eventCpuChange",
            What::CpuPattern => "podCpuChangeWithPattern",
            What::KernelPanic => "kernelPanic",
            What::NodeFailure { .. } => "nodeFailure",
            What::Maintenance { .. } => "maintenance",
            What::CreateTarget { .. } => "createTargetDeployment",
            What::Create { .. } => "createDeployment",
            What::Apply { .. } => "applyDeployment",
            What::Scale { .. } => "scaleDeployment",
        }
    }
}
