// The operations at the side, by resource, with a search that looks at names, paths and descriptions.
"use strict";

const Contents = (() => {
  const METHODS = ["get", "post", "put", "patch", "delete"];

  // What the document lists: tag, id, method, path, words to search in.
  const operations = (spec) =>
    Object.entries(spec.paths).flatMap(([path, methods]) =>
      METHODS.filter((method) => methods[method]).map((method) => {
        const operation = methods[method];
        const words = [operation.operationId, path, operation.summary, operation.description].join(" ");
        return { path, method, id: operation.operationId, tag: operation.tags[0], summary: operation.summary || path,
          words: words.toLowerCase().replace(/[_-]/g, " ") };
      }));

  const show = (spec, list, search, open) => {
    const all = operations(spec);
    const draw = () => {
      const wanted = search.value.toLowerCase().replace(/[_-]/g, " ").split(/\s+/).filter(Boolean);
      const found = all.filter((operation) => wanted.every((word) => operation.words.includes(word)));
      const groups = Map.groupBy ? Map.groupBy(found, (one) => one.tag)
        : found.reduce((map, one) => map.set(one.tag, [...(map.get(one.tag) || []), one]), new Map());
      list.replaceChildren(...[...groups].map(([tag, group]) => {
        const heading = Object.assign(document.createElement("h2"), { textContent: tag });
        const items = document.createElement("ul");
        items.append(...group.map((operation) => {
          const link = Object.assign(document.createElement("a"), { href: `#/${encodeURIComponent(tag)}/${operation.id}` });
          const method = Object.assign(document.createElement("span"), { className: `method ${operation.method}`, textContent: operation.method });
          link.append(method, ` ${operation.summary}`);
          link.addEventListener("click", () => open(operation));
          const item = document.createElement("li");
          item.append(link);
          return item;
        }));
        const section = document.createElement("section");
        section.append(heading, items);
        return section;
      }));
      if (!found.length) list.textContent = "Nothing has these words.";
    };
    search.addEventListener("input", draw);
    draw();
  };

  return { operations, show };
})();
