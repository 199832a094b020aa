// Runs a package that fn.package wrote, without Python: numbers for its inputs come in, those of its results go out.
//
//     python -c 'import tnp as np; np.compile(lambda x: 1 / (1 + np.exp(-x))).package("sigmoid.pt2", np.zeros(3))'
//     echo -1 0 1 | ./run sigmoid.pt2

#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <cstdint>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

const std::map<std::string, at::ScalarType> kTypes = {
    {"bool", at::kBool},   {"uint8", at::kByte},      {"int8", at::kChar},   {"int16", at::kShort}, {"int32", at::kInt},
    {"int64", at::kLong},  {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}, {"float32", at::kFloat}, {"float64", at::kDouble},
};

std::vector<int64_t> integers(const std::string& words) {
  std::istringstream stream(words);
  std::vector<int64_t> numbers;
  for (int64_t number; stream >> number;) numbers.push_back(number);
  return numbers;
}

// The package says what it is for; its code does not look again, so what it is given has to be just that.
at::Tensor read_input(const std::unordered_map<std::string, std::string>& facts, const std::string& key) {
  const auto shape = integers(facts.at(key + "shape"));
  at::Tensor values = at::empty(shape, at::kDouble);
  double* data = values.data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    if (!(std::cin >> data[i])) throw std::runtime_error("too few numbers for " + facts.at(key + "name"));
  }
  const auto options = at::TensorOptions().dtype(kTypes.at(facts.at(key + "dtype"))).device(facts.at(key + "device"));
  return at::empty_strided(shape, integers(facts.at(key + "strides")), options).copy_(values);
}

void write(const at::Tensor& output) {
  const at::Tensor values = output.to(at::kCPU, at::kDouble).contiguous();
  std::cout << output.sizes() << ':';
  for (int64_t i = 0; i < values.numel(); ++i) std::cout << ' ' << values.data_ptr<double>()[i];
  std::cout << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: run PACKAGE.pt2 < numbers\n";
    return 2;
  }
  try {
    torch::inductor::AOTIModelPackageLoader package(argv[1]);
    const auto facts = package.get_metadata();
    std::vector<at::Tensor> inputs;
    for (int64_t i = 0; i < std::stoll(facts.at("inputs")); ++i) {
      inputs.push_back(read_input(facts, "input_" + std::to_string(i) + "_"));
    }
    std::cout << std::setprecision(std::numeric_limits<double>::max_digits10);
    for (const at::Tensor& output : package.run(inputs)) write(output);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
