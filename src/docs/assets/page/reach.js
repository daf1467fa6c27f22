// Makes what Swagger UI draws reachable for those who use a keyboard or a screen reader: its choices get a name, and its
// blocks of code, which scroll, can be focused. Uses nothing but the document; the component has no setting for either.
"use strict";

const Reach = (() => {
  // What a choice is about: the examples of a body, or the value of a parameter.
  const nameOf = (select) => {
    if (select.closest(".examples-select")) return "Examples";
    const row = select.closest("tr[data-param-name]");
    return row ? `Value of ${row.dataset.paramName}` : "Choice";
  };

  const mend = (within) => {
    for (const select of within.querySelectorAll("select:not([aria-label])")) {
      if (!select.labels.length) select.setAttribute("aria-label", nameOf(select));
    }
    for (const code of within.querySelectorAll(".microlight:not([tabindex])")) code.tabIndex = 0;
  };

  // Mends what stands in `place` now, and at once whatever is drawn there later.
  const keep = (place) => {
    new MutationObserver(() => mend(place)).observe(place, { childList: true, subtree: true });
    mend(place);
  };

  return { keep };
})();
