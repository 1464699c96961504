//! What functions cost: those of Kubernetes (`library.CostEstimator.EstimateCallCost`, `ext.Sets`), then those of CEL
//! (`coster.functionCost`).

use kube_cel::cel::common::ast::{Expr, LiteralValue, operators};

use super::{ITEMS, Part, Range, Sizes, VALUES};
use crate::cel::types::{Overload, Ty};

/// What a regular expression of unit length costs for a text of unit length (`RegexStringLengthCostFactor`).
const REGEX_FACTOR: f64 = 0.25;
/// The longest regular expression behind a format's name, times that.
const FORMAT_FACTOR: f64 = 128.0 * REGEX_FACTOR;
/// The longest name of a format.
const FORMAT_NAME: u64 = 64;
/// The bytes of an address.
const ADDRESS: Range = Range { min: 4, max: 16 };

/// Functions of Kubernetes that cost one.
const NOMINAL: [&str; 35] = [
    "allowed",
    "add",
    "asApproximateFloat",
    "asInteger",
    "compareTo",
    "error",
    "errored",
    "family",
    "format.named",
    "getEscapedPath",
    "getHost",
    "getHostname",
    "getPort",
    "getQuery",
    "getScheme",
    "group",
    "isGlobalUnicast",
    "isGreaterThan",
    "isInteger",
    "isLessThan",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isLoopback",
    "isUnspecified",
    "major",
    "masked",
    "minor",
    "patch",
    "path",
    "prefixLength",
    "reason",
    "resource",
    "serviceAccount",
    "sign",
    "sub",
];

/// Functions of CEL, and those that nobody has given a cost, that cost one beside their arguments.
const PLAIN: [&str; 49] = [
    operators::DIVIDE,
    operators::INDEX,
    operators::LOGICAL_NOT,
    operators::MODULO,
    operators::MULTIPLY,
    operators::NEGATE,
    operators::NOT_STRICTLY_FALSE,
    operators::OPT_INDEX,
    operators::OPT_SELECT,
    operators::SUBSTRACT,
    "bool",
    "charAt",
    "double",
    "duration",
    "format.byte",
    "format.date",
    "format.datetime",
    "format.dns1035Label",
    "format.dns1035LabelPrefix",
    "format.dns1123Label",
    "format.dns1123LabelPrefix",
    "format.dns1123Subdomain",
    "format.dns1123SubdomainPrefix",
    "format.labelValue",
    "format.qualifiedName",
    "format.uri",
    "format.uuid",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "hasValue",
    "int",
    "isURL",
    "optional.none",
    "optional.of",
    "optional.ofNonZeroValue",
    "or",
    "orValue",
    "size",
    "timestamp",
    "type",
    "uint",
];

/// What something costs, without its arguments, and the size of its result if that is told.
type Estimate = (Range, Option<Range>);

/// A call of one form of a function.
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) overload: &'static Overload,
    pub(super) receiver: Option<&'a Part<'a>>,
    pub(super) arguments: &'a [Part<'a>],
}

impl Part<'_> {
    pub(super) fn size_or_unknown(&self) -> Range {
        self.size.unwrap_or(Range::UNKNOWN)
    }
}

fn is(ty: &Ty, names: &[&str]) -> bool {
    names.iter().any(|name| ty.is(name))
}

impl Call<'_> {
    fn first(&self) -> &Ty {
        self.overload.arguments.first().unwrap_or(&Ty::Dyn)
    }

    /// What an item is called of the container that this form takes first.
    pub(super) fn container(&self) -> Option<&'static str> {
        match self.first() {
            Ty::List(_) => Some(ITEMS),
            Ty::Map(..) => Some(VALUES),
            _ => None,
        }
    }

    /// Whether this form puts texts or lists together.
    pub(super) fn joins(&self) -> bool {
        self.container().is_some() || is(self.first(), &["string", "bytes"])
    }

    /// The cost of a function of Kubernetes; none if CEL says what it costs.
    pub(super) fn of_library(&self, sizes: &Sizes<'_>) -> Option<Estimate> {
        let argument = |index: usize| self.arguments.get(index).map(Part::size_or_unknown);
        let own = self.receiver.map(Part::size_or_unknown);
        let only = |cost: Range| Some((cost, None));
        match self.name {
            name if NOMINAL.contains(&name) => only(Range::ONE),
            "name" | "namespace" | "subresource" => only(Range::ONE),
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                only(self.of_items(sizes)?)
            }
            "url" => argument(0).map(|size| (size.read(), Some(size))),
            "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                own.map(|size| (size.read(), Some(size)))
            }
            "replace" => {
                let result = replaced(own?, argument(0)?, argument(1)?);
                Some((own?.read_twice(), Some(result)))
            }
            "split" => {
                let max = self.arguments.get(1).and_then(literal).unwrap_or(own?.max);
                Some((own?.read_twice(), Some(Range { min: 0, max })))
            }
            "join" => {
                let size = self.joined(sizes, own?, argument(0));
                Some((size.read(), Some(size)))
            }
            "find" | "findAll" => {
                let cost = matched(own?, argument(0)?);
                Some((cost, Some(Range { min: 0, max: own?.max })))
            }
            "ip" if self.overload.member => only(Range::ONE),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver"
            | "isSemver" => only(argument(0)?.read()),
            "ip.isCanonical" => only(argument(0)?.read_twice()),
            "containsIP" => only(ADDRESS.add(ADDRESS).read().add(self.parsed(argument(0)?))),
            "containsCIDR" => {
                let compared = ADDRESS.add(ADDRESS).read().add(ADDRESS.read()).add(Range::ONE);
                only(compared.add(self.parsed(argument(0)?)))
            }
            "validate" => only(argument(0)?.read().by(FORMAT_FACTOR)),
            "sets.contains" | "sets.intersects" => {
                only(argument(0)?.times(argument(1)?).add(Range::ONE))
            }
            "sets.equivalent" => only(argument(0)?.times(argument(1)?).by(2.0).add(Range::ONE)),
            operators::EQUALS => only(self.same_kind()?),
            _ => None,
        }
    }

    /// What a text costs beside an address that it is compared with.
    fn parsed(&self, size: Range) -> Range {
        let is_text = self.overload.arguments.last().is_some_and(|last| last.is("string"));
        if is_text { size.read() } else { Range::ZERO }
    }

    /// Comparisons of values of functions of one type; none if it is no such type.
    fn same_kind(&self) -> Option<Range> {
        let [left, right] = self.arguments else { return None };
        let Ty::Plain(name) = &left.ty else { return None };
        if left.ty != right.ty {
            return None;
        }
        match &**name {
            "kubernetes.Quantity" | "kubernetes.Semver" | "net.IP" | "net.CIDR" => Some(Range::ONE),
            "kubernetes.NamedFormat" => Some(Range { min: 1, max: FORMAT_NAME }.read()),
            "kubernetes.URL" => {
                let size = right.size.unwrap_or(Range::ONE);
                Some(Range { min: 1, max: size.max }.read())
            }
            _ => None,
        }
    }

    /// The size of the items of the receiver, if it has any, and whether they are texts.
    fn items(&self, sizes: &Sizes<'_>) -> Option<(Range, bool)> {
        let receiver = self.receiver?;
        let item = match &receiver.ty {
            Ty::List(item) | Ty::Optional(item) => item,
            Ty::Map(key, _) => key,
            _ => return None,
        };
        let mut path = receiver.path.clone();
        if !path.is_empty() {
            path.push(ITEMS.to_owned());
        }
        let size = sizes.of(&path).unwrap_or(Range::UNKNOWN);
        Some((size, is(item, &["string", "bytes"])))
    }

    /// A look at all items, or all characters, of the receiver; none without one.
    fn of_items(&self, sizes: &Sizes<'_>) -> Option<Range> {
        let own = self.receiver?.size_or_unknown();
        Some(match self.items(sizes) {
            Some((size, true)) => own.times(Range::ONE.add(size.read())),
            Some(_) => own,
            None => own.read(),
        })
    }

    fn joined(&self, sizes: &Sizes<'_>, own: Range, separator: Option<Range>) -> Range {
        let items = self.items(sizes).map_or(Range::ZERO, |(size, _)| own.times(size));
        let between = Range { min: own.min.saturating_sub(1), max: own.max.saturating_sub(1) };
        separator.map_or(items, |size| items.add(size.times(between)))
    }

    /// The cost of a function of CEL; none if it is not known here.
    pub(super) fn of_language(&self) -> Option<Estimate> {
        let size = |index: usize| self.arguments.get(index).map(Part::size_or_unknown);
        let only = |cost: Range| Some((cost, None));
        match (self.name, self.receiver) {
            ("format", Some(receiver)) => only(receiver.size_or_unknown().read()),
            ("bytes", None) if self.first().is("string") => {
                let size = size(0)?;
                let made = Range { min: size.min, max: size.max.wrapping_mul(4) };
                Some((size.read(), Some(made)))
            }
            ("string", None) if self.first().is("bytes") => {
                let size = size(0)?;
                Some((size.read(), Some(Range { min: size.min / 4, max: size.max })))
            }
            ("strings.quote", None) => {
                let size = size(0)?;
                let made = Range {
                    min: size.min.wrapping_add(2),
                    max: size.max.wrapping_mul(2).wrapping_add(2),
                };
                Some((size.read(), Some(made)))
            }
            ("startsWith" | "endsWith", Some(_)) => only(size(0)?.read()),
            ("matches", Some(receiver)) => only(matched(receiver.size_or_unknown(), size(0)?)),
            ("contains", Some(receiver)) => {
                only(receiver.size_or_unknown().read().times(size(0)?.read()))
            }
            (operators::IN, None) if self.is_in_list() => only(size(1)?.by(1.0)),
            (operators::EQUALS | operators::NOT_EQUALS, None) => only(compared(size(0)?, size(1)?)),
            (
                operators::LESS
                | operators::LESS_EQUALS
                | operators::GREATER
                | operators::GREATER_EQUALS,
                None,
            ) if self.joins() => only(compared(size(0)?, size(1)?)),
            (
                operators::ADD
                | operators::IN
                | operators::LESS
                | operators::LESS_EQUALS
                | operators::GREATER
                | operators::GREATER_EQUALS
                | "bytes"
                | "matches"
                | "string"
                | "value",
                _,
            ) => only(Range::ONE),
            (name, _) if PLAIN.contains(&name) => only(Range::ONE),
            _ => None,
        }
    }

    fn is_in_list(&self) -> bool {
        matches!(self.overload.arguments.last(), Some(Ty::List(_)))
    }
}

/// A number that is written down.
fn literal(part: &Part<'_>) -> Option<u64> {
    match &part.expression.expr {
        // A negative one becomes a very big one, as upstream converts it.
        Expr::Literal(LiteralValue::Int(number)) => Some(*number.inner() as u64),
        _ => None,
    }
}

/// A text against a regular expression: one character more, because the expression costs whatever the text is.
fn matched(text: Range, expression: Range) -> Range {
    text.add(Range::ONE).read().times(expression.by(REGEX_FACTOR))
}

/// Two texts, as far as the shorter goes.
fn compared(left: Range, right: Range) -> Range {
    let max = left.max.min(right.max);
    Range { min: u64::from(max > 0), max }.read()
}

/// How long a text becomes in which each `old` is replaced by `new`.
fn replaced(text: Range, old: Range, new: Range) -> Range {
    let times = |length: u64, part: u64| (length as f64 / part as f64).ceil() as u64;
    let (most, kept_at_most) = if old.min == 0 {
        // Around every character.
        (text.max.saturating_add(1), text.max)
    } else if new.max <= old.min {
        (0, text.max)
    } else {
        (times(text.max, old.min), 0)
    };
    let (fewest, kept_at_least) = if old.max == 0 {
        (text.min.saturating_add(1), text.min)
    } else if old.max <= new.min {
        (0, text.min)
    } else {
        (times(text.min, old.max), 0)
    };
    let count = Range { min: fewest, max: most };
    count.times(new).add(Range { min: kept_at_least, max: kept_at_most })
}
