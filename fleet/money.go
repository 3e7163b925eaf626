package fleet

import (
	"fmt"
	"math"
)

// Money returns an amount of US dollars as text, such as "$20.00". It uses more than two decimals
// for an amount below $0.10 that is not a whole number of cents, such as "$0.0047".
func Money(usd float64) string {
	micro := microUSD(usd)
	return moneyText(micro, moneyDigits(micro))
}

// MoneyOf returns a text that says how much of a limit was spent, such as "$0.0047 of $0.0020". If
// the two amounts differ but would be rounded to the same number, the spent amount gets more
// decimals, and so does a limit that has more.
func MoneyOf(spent, limit float64) string {
	s, l := microUSD(spent), microUSD(limit)
	digits, limitDigits := moneyDigits(s), moneyDigits(l)
	for digits < maxMoneyDigits && s != l && roundTo(s, digits) == roundTo(l, digits) {
		digits++
	}
	if digits > limitDigits && roundTo(l, limitDigits) != l {
		limitDigits = digits
	}
	return moneyText(s, digits) + " of " + moneyText(l, limitDigits)
}

// maxMoneyDigits is the maximum number of decimals of an amount. The smallest amount that gaffer
// stores is a millionth of a dollar, which has 6 decimals.
const maxMoneyDigits = 6

func microUSD(usd float64) int64 {
	const most = 1e15
	return int64(math.Round(min(max(usd*1e6, -most), most)))
}

// moneyDigits returns the number of decimals with which an amount is shown: more than two if the
// amount is below $0.10 and not a whole number of cents. The parameter micro is the amount in
// millionths of a dollar.
func moneyDigits(micro int64) int {
	small := micro
	if small < 0 {
		small = -small
	}
	switch {
	case small%10_000 == 0 || small >= 100_000:
		return 2
	case small >= 100:
		return 4
	}
	return maxMoneyDigits
}

// roundTo rounds an amount to a number of decimals. The amount and the result are in millionths of
// a dollar.
func roundTo(micro int64, digits int) int64 {
	unit := int64(math.Pow10(maxMoneyDigits - digits))
	half := unit / 2
	if micro < 0 {
		half = -half
	}
	return (micro + half) / unit * unit
}

func moneyText(micro int64, digits int) string {
	sign := ""
	if micro = roundTo(micro, digits); micro < 0 {
		sign, micro = "-", -micro
	}
	return fmt.Sprintf("%s$%d.%0*d", sign, micro/1e6, digits, micro%1e6/int64(math.Pow10(maxMoneyDigits-digits)))
}

// USD returns a.MicroUSD in dollars.
func (a Amount) USD() float64 { return float64(a.MicroUSD) / 1e6 }

// Limits reports whether the amount, used as a limit, limits money or tokens. A 0 means no limit.
func (a Amount) Limits() bool { return a.MicroUSD > 0 || a.Tokens > 0 }

// Exceeds reports whether a is more than the limit, in money or in tokens. If MicroUSD or Tokens of
// limit is 0, that amount is not limited.
func (a Amount) Exceeds(limit Amount) bool {
	return limit.MicroUSD > 0 && a.MicroUSD > limit.MicroUSD || limit.Tokens > 0 && a.Tokens > limit.Tokens
}

// Reaches reports whether a is at least the limit, in money or in tokens. If MicroUSD or Tokens of
// limit is 0, that amount is not limited.
func (a Amount) Reaches(limit Amount) bool {
	return limit.MicroUSD > 0 && a.MicroUSD >= limit.MicroUSD || limit.Tokens > 0 && a.Tokens >= limit.Tokens
}

// Of returns a text that says how much of a limit was spent, such as "$0.0047 of $0.0020" or "1200
// of 1000 tokens". It leaves out money or tokens if limit does not limit them.
func (a Amount) Of(limit Amount) (text string) {
	if limit.MicroUSD > 0 {
		text = MoneyOf(a.USD(), limit.USD())
	}
	if limit.Tokens > 0 {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d of %d tokens", a.Tokens, limit.Tokens)
	}
	return text
}

// LimitText returns a limit as text, such as "$20.00" or "5000 tokens".
func (a Amount) LimitText() string {
	switch {
	case a.MicroUSD > 0 && a.Tokens > 0:
		return fmt.Sprintf("%s and %d tokens", Money(a.USD()), a.Tokens)
	case a.Tokens > 0:
		return fmt.Sprintf("%d tokens", a.Tokens)
	}
	return Money(a.USD())
}
