/** The size of a task's box. A separate module, so that the page need not load the layout library. */
export const box = { width: 216, height: 50 };
