// The document with which xterm.js creates its elements. The page's policy forbids style
// elements and style attributes that scripts add as text, because text from an agent could
// become one. xterm.js uses both. Here they become the objects that the policy allows: style
// sheets made by scripts, and the style property of an element.

/** @returns {Document} */
export function strictDocument() {
  const createElement = (tag) => (tag === 'style' ? sheetElement() : styledElement(document.createElement(tag)));
  return new Proxy(document, {
    get(page, name) {
      if (name === 'createElement') return createElement;
      const value = page[name];
      return typeof value === 'function' ? value.bind(page) : value;
    },
  });
}

// An empty element in the place of a style element. Its text is the style sheet's.
function sheetElement() {
  const sheet = new CSSStyleSheet();
  const element = document.createElement('span');
  element.hidden = true;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, 'textContent', { set: (text) => sheet.replaceSync(text) });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}

/** @param {HTMLElement} element */
function styledElement(element) {
  element.setAttribute = (name, value) => {
    if (name === 'style') element.style.cssText = value;
    else Element.prototype.setAttribute.call(element, name, value);
  };
  return element;
}
