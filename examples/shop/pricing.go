package main

import (
	"context"
	"math/bits"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

const (
	maxLines    = 6 // lines in a cart
	maxQuantity = 9 // units in a line
)

// A cart is what a customer wants to buy.
type cart []cartLine

type cartLine struct {
	Product  int `json:"product"`
	Quantity int `json:"quantity"`
}

// quantities sums the lines of the same product.
func (c cart) quantities() map[int]int {
	sum := make(map[int]int, len(c))
	for _, line := range c {
		sum[line.Product] += line.Quantity
	}
	return sum
}

// A coupon takes percent off each line of one category whose price, in cents, is at
// least minCents once the coupons before it are taken off.
type coupon struct {
	category int
	minCents int64
	percent  int64
}

var coupons = []coupon{
	{category: 0, minCents: 20_00, percent: 5},
	{category: 1, minCents: 35_00, percent: 10},
	{category: 2, minCents: 10_00, percent: 3},
	{category: 3, minCents: 80_00, percent: 15},
	{category: 4, minCents: 50_00, percent: 8},
	{category: 0, minCents: 90_00, percent: 12},
	{category: 1, minCents: 15_00, percent: 4},
	{category: 2, minCents: 60_00, percent: 9},
	{category: 3, minCents: 25_00, percent: 6},
	{category: 4, minCents: 99_00, percent: 14},
	{category: 0, minCents: 5_00, percent: 2},
	{category: 1, minCents: 70_00, percent: 11},
	{category: 2, minCents: 30_00, percent: 7},
	{category: 3, minCents: 45_00, percent: 9},
}

const (
	couponsPerOrder = 5
	taxPercent      = 19
)

// pricing finds what a cart costs. It is plain CPU work, shares nothing, and so runs on
// all processors at once.
type pricing struct {
	tracer  trace.Tracer
	catalog []product // by product number
}

func newPricing(tp trace.TracerProvider, catalog []product) *pricing {
	return &pricing{tracer: tp.Tracer("shop/pricing"), catalog: catalog}
}

// Price returns the least that the cart costs, tax included, in cents: it tries every
// set of coupons that may be used together.
func (p *pricing) Price(ctx context.Context, cart cart) int64 {
	_, span := p.tracer.Start(ctx, "price cart", trace.WithAttributes(attribute.Int("cart.lines", len(cart))))
	defer span.End()

	best := p.total(cart, 0)
	for set := uint(1); set < 1<<len(coupons); set++ {
		if bits.OnesCount(set) <= couponsPerOrder {
			best = min(best, p.total(cart, set))
		}
	}
	return best * (100 + taxPercent) / 100
}

// total is the price before tax if the coupons in set are used, one bit each.
func (p *pricing) total(cart cart, set uint) int64 {
	var sum int64
	for _, line := range cart {
		product := p.catalog[line.Product]
		cents := product.Cents * int64(line.Quantity)
		for rest := set; rest != 0; rest &= rest - 1 {
			c := coupons[bits.TrailingZeros(rest)]
			if c.category == product.category && cents >= c.minCents {
				cents -= cents * c.percent / 100
			}
		}
		sum += cents
	}
	return sum
}
