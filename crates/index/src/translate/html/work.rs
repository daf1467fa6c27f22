//! The work of reading a text as HTML, counted before the sanitiser does it.
//!
//! For many tags and pieces of text, the rules of HTML search all open elements. So with nesting the time to read grows
//! with the square of the length. A tag's attributes are also compared with each other. Here the same parser reads the
//! text into an outline that holds no content and counts the steps. Reading stops as soon as there are more steps than
//! a fixed number for each byte. So the cost of sanitising grows linearly with the length.
//!
//! May use: this folder.

use super::limits::{MAX_REOPENED, MAX_TAGS, may_reopen_many};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, local_name, ns, parse_fragment};
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::{Rc, Weak};

/// Shorter texts are not counted: the worst of them take a few milliseconds.
const SHORT: usize = 2 * 1024;
/// Number of steps allowed for any length.
const STEPS: usize = 100_000;
/// Further steps for each byte. Texts written by people need fewer than five.
const STEPS_PER_BYTE: usize = 40;
/// Bytes that are read between two checks of the counts.
const PIECE: usize = 1024;
/// The same for a text in which each tag might create many elements.
const SMALL_PIECE: usize = 64;
/// Longest tag or comment, in bytes.
const MAX_TAG_BYTES: usize = 128 * 1024;
/// Largest number of places in one tag where an attribute may begin.
const MAX_TAG_PARTS: usize = 4096;

/// Returns the number of steps that the parser takes to read `html`. Those of a short text are not counted.
///
/// # Errors
/// The end of a sentence: the reason why reading costs more than the length allows.
pub fn steps(html: &str) -> Result<usize, &'static str> {
    if html.len() <= SHORT {
        return Ok(0);
    }
    look_at_tags(html)?;
    let context = QualName::new(None, ns!(html), local_name!("div"));
    let mut parser = parse_fragment(Outline::default(), ParseOpts::default(), context, Vec::new(), false);
    let allowed = STEPS + html.len() * STEPS_PER_BYTE;
    let (size, most) = match may_reopen_many(html) {
        true => (SMALL_PIECE, MAX_TAGS + MAX_REOPENED),
        false => (PIECE, usize::MAX),
    };
    let mut rest = html;
    loop {
        let outline = &parser.tokenizer.sink.sink;
        let taken = outline.steps.get();
        if outline.created.get() > most {
            return Err("holds too many elements");
        }
        if taken > allowed {
            return Err("nests too many elements");
        }
        if rest.is_empty() {
            return Ok(taken);
        }
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size));
        rest = after;
        parser.process(StrTendril::from_slice(piece));
    }
}

/// Rejects a tag (or comment) that is too long or has too many attributes. The text is read in pieces; such a tag has
/// been met when the parser recognised nothing over that many bytes.
fn look_at_tags(html: &str) -> Result<(), &'static str> {
    let tokenizer = Tokenizer::new(Progress::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    let (mut rest, mut bytes, mut parts) = (html, 0, 0);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(PIECE));
        rest = after;
        input.push_back(StrTendril::from_slice(piece));
        let _ = tokenizer.feed(&input);
        if tokenizer.sink.0.take() {
            (bytes, parts) = (0, 0);
        }
        bytes += piece.len();
        parts += piece.bytes().filter(|byte| byte.is_ascii_whitespace() || b"/\"'".contains(byte)).count();
        if bytes > MAX_TAG_BYTES {
            return Err("holds a tag longer than 128 KiB");
        }
        if parts > MAX_TAG_PARTS && bytes > 2 * PIECE {
            return Err("holds a tag with too many attributes");
        }
    }
    Ok(())
}

/// Whether the parser recognised anything since the last check.
#[derive(Default)]
struct Progress(Cell<bool>);

impl TokenSink for Progress {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        self.0.set(self.0.get() || !matches!(token, Token::ParseError(_)));
        TokenSinkResult::Continue
    }
}

/// An element (or comment) without its content.
struct Node {
    name: QualName,
    parent: Cell<Option<Weak<Node>>>,
    /// Number of children it has or had. A search among the children takes this many steps.
    children: Cell<usize>,
}

type Handle = Rc<Node>;

impl Node {
    fn new(name: QualName) -> Handle {
        Rc::new(Self { name, parent: Cell::default(), children: Cell::default() })
    }

    fn parent(&self) -> Option<Handle> {
        let parent = self.parent.take();
        self.parent.set(parent.clone());
        parent.as_ref().and_then(Weak::upgrade)
    }
}

/// The nesting of the elements, and the counts.
struct Outline {
    root: Handle,
    steps: Cell<usize>,
    /// Elements that the parser has created.
    created: Cell<usize>,
}

impl Default for Outline {
    fn default() -> Self {
        Self {
            root: Node::new(QualName::new(None, ns!(html), local_name!("html"))),
            steps: Cell::default(),
            created: Cell::default(),
        }
    }
}

impl Outline {
    fn step(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    fn put(&self, parent: &Handle, child: NodeOrText<Handle>) {
        let NodeOrText::AppendNode(child) = child else { return };
        child.parent.set(Some(Rc::downgrade(parent)));
        parent.children.set(parent.children.get() + 1);
    }
}

impl TreeSink for Outline {
    type Handle = Handle;
    type Output = ();
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) {}

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        self.root.clone()
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        self.step(1);
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _flags: ElementFlags) -> Handle {
        // Creating, judging and writing an element costs far more than a look at its name.
        self.step(20 + 5 * attributes.len());
        self.created.set(self.created.get() + 1);
        Node::new(name)
    }

    fn create_comment(&self, _text: StrTendril) -> Handle {
        self.step(20);
        Node::new(QualName::new(None, ns!(), local_name!("")))
    }

    fn create_pi(&self, _target: StrTendril, data: StrTendril) -> Handle {
        self.create_comment(data)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.step(1);
        self.put(parent, child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        match element.parent() {
            Some(_) => self.append_before_sibling(element, child),
            None => self.append(previous, child),
        }
    }

    fn append_doctype_to_document(&self, _name: StrTendril, _public: StrTendril, _system: StrTendril) {}

    fn get_template_contents(&self, target: &Handle) -> Handle {
        target.clone()
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        self.step(1);
        Rc::ptr_eq(one, other)
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let parent = sibling.parent().unwrap_or_else(|| self.root.clone());
        // The sibling has to be found, and the nodes behind it move up.
        self.step(1 + parent.children.get());
        self.put(&parent, child);
    }

    fn add_attrs_if_missing(&self, _target: &Handle, attributes: Vec<Attribute>) {
        self.step(5 * attributes.len());
    }

    fn remove_from_parent(&self, target: &Handle) {
        if let Some(parent) = target.parent() {
            self.step(1 + parent.children.get());
            parent.children.set(parent.children.get().saturating_sub(1));
        }
        target.parent.set(None);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        let moved = node.children.take();
        self.step(1 + moved);
        new_parent.children.set(new_parent.children.get() + moved);
    }
}
