// Keeps what it makes, or does not: kept kept|dropped SECONDS.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	var all [][]byte
	sum := 0
	for i := 0; i < 400; i++ {
		data := make([]byte, 100000)
		for k := range data {
			data[k] = byte(i)
		}
		sum += int(data[i])
		if os.Args[1] == "kept" {
			all = append(all, data)
		}
		time.Sleep(time.Duration(seconds / 400 * 1e9))
	}
	fmt.Println(sum + len(all))
}
