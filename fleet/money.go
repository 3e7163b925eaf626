package fleet

import (
	"fmt"
	"math"
)

// Money returns an amount of US dollars as text, such as "$20.00". A small amount gets more digits
// if it needs them, such as "$0.0047".
func Money(usd float64) string {
	micro := microUSD(usd)
	return moneyText(micro, moneyDigits(micro))
}

// MoneyOf returns how much of a limit was spent, such as "$0.0047 of $0.0020". The two texts are
// equal only if the amounts are equal: rounding never hides that more than the limit was spent.
func MoneyOf(spent, limit float64) string {
	s, l := microUSD(spent), microUSD(limit)
	most := moneyText(l, moneyDigits(l))
	digits := moneyDigits(s)
	for digits < maxMoneyDigits && s != l && roundTo(s, digits) == roundTo(l, digits) {
		digits++
	}
	return moneyText(s, digits) + " of " + most
}

// maxMoneyDigits is the largest number of digits after the point. It is enough for a millionth, the
// smallest amount that gaffer stores.
const maxMoneyDigits = 6

func microUSD(usd float64) int64 {
	const most = 1e15
	return int64(math.Round(min(max(usd*1e6, -most), most)))
}

// moneyDigits returns how many digits after the point an amount needs: two, or more if it is small
// and not a whole number of cents.
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

// roundTo rounds an amount in millionths to a number of digits after the point. The result is also in
// millionths.
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

// USD returns the money of an amount in dollars.
func (a Amount) USD() float64 { return float64(a.MicroUSD) / 1e6 }

// Limits reports whether the amount limits money or tokens. The zero amount means no limit.
func (a Amount) Limits() bool { return a.MicroUSD > 0 || a.Tokens > 0 }

// Exceeds reports whether a is more than the limit, in money or in tokens. A 0 in the limit
// means no limit.
func (a Amount) Exceeds(limit Amount) bool {
	return limit.MicroUSD > 0 && a.MicroUSD > limit.MicroUSD || limit.Tokens > 0 && a.Tokens > limit.Tokens
}

// Reaches reports whether a is at least the limit, in money or in tokens. A 0 in the limit
// means no limit.
func (a Amount) Reaches(limit Amount) bool {
	return limit.MicroUSD > 0 && a.MicroUSD >= limit.MicroUSD || limit.Tokens > 0 && a.Tokens >= limit.Tokens
}

// Of returns how much of a limit was spent, such as "$0.0047 of $0.0020" or "1200 of 1000 tokens".
// It leaves out money or tokens if the limit does not limit them.
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
