import { formatPrice } from "./util/format.js";

const FREE_SHIPPING_FROM = 90;

export function addItem(cart, product, amount) {
  const line = cart.lines.find((l) => l.sku === product.sku);
  if (line) {
    line.amount += amount;
  } else {
    cart.lines.push({ sku: product.sku, price: product.price, amount });
  }
  return cart;
}

export function total(cart) {
  let sum = 0;
  for (const line of cart.lines) {
    sum += line.price * line.amount;
  }
  return sum;
}

export function summary(cart) {
  const sum = total(cart);
  const shipping = sum >= FREE_SHIPPING_FROM ? 0 : 4.95;
  return `${formatPrice(sum)} + ${formatPrice(shipping)}`;
}
