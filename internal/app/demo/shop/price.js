// Prices of the shop.

/** The sum of a basket. */
export function total(items) {
  let sum = 0;
  for (const item of items) sum += item.price * item.count;
  return sum;
}

/** A sum as the pages show it. */
export function format(sum) {
  return `${sum} €`;
}
