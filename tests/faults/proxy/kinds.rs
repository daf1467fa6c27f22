//! The kinds of fault, each with its name, its effect on the request and its effect on the answer.
//!
//! May use: nothing of the crate.

/// Whether v1 gets the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The fault stands before v1, which sees nothing.
    Before,
    /// v1 carries the request out, and its answer suffers.
    After,
}

/// The content that replaces v1's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A page in HTML with this status.
    Page(u16),
    /// This JSON with this status.
    Json(u16, &'static str),
    /// v1's own throttle, word by word.
    OwnThrottle,
    /// A fault of the connection.
    Wire(Wire),
    /// v1's answer in another shape.
    Shape(Shape),
}

/// Faults of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Close,
    Reset,
    HalfClose,
    Stall,
    HalfHead,
    HeadOnly,
    HalfBody,
    ResetInBody,
    StallInBody,
    LongLength,
    ShortLength,
    NegativeLength,
    TwoLengths,
    BadChunk,
    ChunksCutOff,
    ChunkTooShort,
    NoLength,
    BadStatusLine,
    NotHttp,
    OldHttp,
    HugeHeader,
    ManyHeaders,
    BadHeader,
    Continues,
    EarlyHints,
    ExtraAnswer,
    SlowHead,
    SlowBody,
    CloseAfterwards,
}

/// Faults of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Null,
    List,
    Object,
    Text,
    Number,
    Nothing,
    NoContent,
    Accepted,
    Partial,
    Truncated,
    Trailing,
    Bom,
    BadUtf8,
    NotANumber,
    Deep,
    Wrapped,
    InAList,
    NoId,
    OnlyId,
    MissingMember,
    NullMember,
    WrongType,
    WrongId,
    IdOfNoForm,
    Another,
    DuplicateKey,
    HtmlType,
    NoType,
    GzipNamed,
    Gzipped,
    GzipBomb,
    Huge,
    HugeAnnounced,
}

/// One kind of fault.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    pub when: When,
    pub form: Form,
}

impl Kind {
    /// Checks whether the fault takes as long as the gateway's deadline for a request.
    pub fn is_slow(&self) -> bool {
        matches!(self.form, Form::Wire(Wire::Stall | Wire::StallInBody | Wire::HalfClose))
    }
}

const fn before(name: &'static str, form: Form) -> Kind {
    Kind { name, when: When::Before, form }
}

const fn after(name: &'static str, form: Form) -> Kind {
    Kind { name, when: When::After, form }
}

const V1_500: Form = Form::Json(500, r#"{"error": "Something went wrong please try again later"}"#);
const BUSY: Form = Form::Json(503, r#"{"error": "busy"}"#);
const SLOW_DOWN: Form = Form::Json(429, r#"{"detail": "slow down"}"#);

/// All kinds.
pub const KINDS: &[Kind] = &[
    before("500 of v1, not executed", V1_500),
    after("500 of v1, executed", V1_500),
    before("500 page, not executed", Form::Page(500)),
    after("500 page, executed", Form::Page(500)),
    before("502, not executed", Form::Page(502)),
    after("502, executed", Form::Page(502)),
    before("503 page, not executed", Form::Page(503)),
    after("503 page, executed", Form::Page(503)),
    before("503 in JSON, not executed", BUSY),
    after("503 in JSON, executed", BUSY),
    before("504, not executed", Form::Page(504)),
    after("504, executed", Form::Page(504)),
    before("520, not executed", Form::Page(520)),
    after("520, executed", Form::Page(520)),
    before("429 of v1, not executed", Form::OwnThrottle),
    before("429 page, not executed", Form::Page(429)),
    after("429 page, executed", Form::Page(429)),
    before("429 in JSON, not executed", SLOW_DOWN),
    after("429 in JSON, executed", SLOW_DOWN),
    before("408, not executed", Form::Page(408)),
    after("408, executed", Form::Page(408)),
    before("302, not executed", Form::Page(302)),
    after("302, executed", Form::Page(302)),
    before("307, not executed", Form::Page(307)),
    after("301, executed", Form::Page(301)),
    before("403 page, not executed", Form::Page(403)),
    after("403 page, executed", Form::Page(403)),
    before("404 page, not executed", Form::Page(404)),
    after("404 page, executed", Form::Page(404)),
    after("409 without words, executed", Form::Json(409, "{}")),
    before("418, not executed", Form::Json(418, r#"{"error": "teapot"}"#)),
    after("200 page, executed", Form::Page(200)),
    before("200 page, not executed", Form::Page(200)),
    before("closed, not executed", Form::Wire(Wire::Close)),
    after("closed, executed", Form::Wire(Wire::Close)),
    before("reset, not executed", Form::Wire(Wire::Reset)),
    after("reset, executed", Form::Wire(Wire::Reset)),
    before("half-closed, not executed", Form::Wire(Wire::HalfClose)),
    after("half-closed, executed", Form::Wire(Wire::HalfClose)),
    before("no answer, not executed", Form::Wire(Wire::Stall)),
    after("no answer, executed", Form::Wire(Wire::Stall)),
    after("half a head", Form::Wire(Wire::HalfHead)),
    after("only a head", Form::Wire(Wire::HeadOnly)),
    after("half a body", Form::Wire(Wire::HalfBody)),
    after("reset in the body", Form::Wire(Wire::ResetInBody)),
    after("no end of the body", Form::Wire(Wire::StallInBody)),
    after("length too long", Form::Wire(Wire::LongLength)),
    after("length too short", Form::Wire(Wire::ShortLength)),
    after("length below zero", Form::Wire(Wire::NegativeLength)),
    after("two lengths", Form::Wire(Wire::TwoLengths)),
    after("chunk without a size", Form::Wire(Wire::BadChunk)),
    after("chunks cut off", Form::Wire(Wire::ChunksCutOff)),
    after("chunk shorter than said", Form::Wire(Wire::ChunkTooShort)),
    after("no length, closed", Form::Wire(Wire::NoLength)),
    after("bad status line", Form::Wire(Wire::BadStatusLine)),
    after("not HTTP", Form::Wire(Wire::NotHttp)),
    after("HTTP/1.0", Form::Wire(Wire::OldHttp)),
    after("huge header", Form::Wire(Wire::HugeHeader)),
    after("many headers", Form::Wire(Wire::ManyHeaders)),
    after("bad header", Form::Wire(Wire::BadHeader)),
    after("100 Continue, many", Form::Wire(Wire::Continues)),
    after("103 Early Hints", Form::Wire(Wire::EarlyHints)),
    after("an extra answer", Form::Wire(Wire::ExtraAnswer)),
    after("slow head", Form::Wire(Wire::SlowHead)),
    after("slow body", Form::Wire(Wire::SlowBody)),
    after("closed afterwards", Form::Wire(Wire::CloseAfterwards)),
    after("null", Form::Shape(Shape::Null)),
    after("empty list", Form::Shape(Shape::List)),
    after("empty object", Form::Shape(Shape::Object)),
    after("a text", Form::Shape(Shape::Text)),
    after("a number", Form::Shape(Shape::Number)),
    after("empty body", Form::Shape(Shape::Nothing)),
    after("204", Form::Shape(Shape::NoContent)),
    after("202", Form::Shape(Shape::Accepted)),
    after("206", Form::Shape(Shape::Partial)),
    after("JSON cut off", Form::Shape(Shape::Truncated)),
    after("JSON with a tail", Form::Shape(Shape::Trailing)),
    after("JSON after a byte order mark", Form::Shape(Shape::Bom)),
    after("not UTF-8", Form::Shape(Shape::BadUtf8)),
    after("NaN", Form::Shape(Shape::NotANumber)),
    after("deep nesting", Form::Shape(Shape::Deep)),
    after("wrapped in an object", Form::Shape(Shape::Wrapped)),
    after("wrapped in a list", Form::Shape(Shape::InAList)),
    after("without id", Form::Shape(Shape::NoId)),
    after("nothing but the id", Form::Shape(Shape::OnlyId)),
    after("a member missing", Form::Shape(Shape::MissingMember)),
    after("a member null", Form::Shape(Shape::NullMember)),
    after("a member of another type", Form::Shape(Shape::WrongType)),
    after("an id of nobody", Form::Shape(Shape::WrongId)),
    after("an id of no form", Form::Shape(Shape::IdOfNoForm)),
    after("another record", Form::Shape(Shape::Another)),
    after("a key twice", Form::Shape(Shape::DuplicateKey)),
    after("JSON said to be HTML", Form::Shape(Shape::HtmlType)),
    after("no content type", Form::Shape(Shape::NoType)),
    after("plain said to be gzip", Form::Shape(Shape::GzipNamed)),
    after("gzip that nobody asked for", Form::Shape(Shape::Gzipped)),
    after("gzip bomb", Form::Shape(Shape::GzipBomb)),
    after("huge body", Form::Shape(Shape::Huge)),
    after("huge body announced", Form::Shape(Shape::HugeAnnounced)),
];
