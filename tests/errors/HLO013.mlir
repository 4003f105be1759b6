// HLO013 at 5:5: HLO has nothing for `stablehlo.logg`
// = did you mean `stablehlo.log`?
module @m {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.logg %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
