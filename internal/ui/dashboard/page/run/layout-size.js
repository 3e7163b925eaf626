/** How big the box of a task is: for the layout's worker and for the page, which needs nothing else of the layout. */
export const box = { width: 216, height: 50 };
